from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import PHONE, RecipientFields, RecipientKind
from waypost.recipients.rules import check_attributes, check_external_id, check_fields, is_minted, merge_attributes

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
stored = st.dictionaries(st.sampled_from("abcdef"), json_values.filter(lambda value: value is not None), max_size=5)
patches = st.dictionaries(st.sampled_from("abcdef"), json_values, max_size=5)


@given(stored)
def test_an_absent_field_keeps_and_null_removes_all(current: JsonObject) -> None:
    assert merge_attributes(current, UNSET) == current
    assert merge_attributes(current, {}) == current
    assert merge_attributes(current, None) == {}


@given(stored, patches)
def test_each_key_follows_the_merge_rule(current: JsonObject, patch: JsonObject) -> None:
    before = dict(current)
    merged = merge_attributes(current, patch)
    for name in {*current, *patch}:
        expected = patch[name] if name in patch else current[name]
        if expected is None:
            assert name not in merged
        else:
            assert merged[name] == expected
    assert current == before
    assert None not in merged.values()


@given(stored, patches, patches)
def test_saying_it_twice_is_as_good_as_once_and_the_last_word_counts(
    current: JsonObject, first: JsonObject, then: JsonObject
) -> None:
    once = merge_attributes(current, first)
    assert merge_attributes(once, first) == once
    assert merge_attributes(once, then) == merge_attributes(current, {**first, **then})


@pytest.mark.parametrize("text", ["u", "user-42", "a.b:c@d|e+f=g~h_i-j", "0" * 128, "jane@example.com", "rcp_x"])
def test_ids_a_caller_may_use(text: str) -> None:
    assert list(check_external_id(text, "/id")) == []


@pytest.mark.parametrize("text", ["", "a" * 129, "a b", "a/b", "é", "a\n", "a\x00", "a%b"])
def test_ids_nobody_may_use(text: str) -> None:
    (error,) = check_external_id(text, "/to/0/id")
    assert (error.pointer, error.code) == ("/to/0/id", "invalid_id")


def test_minted_ids_are_known_by_their_prefix() -> None:
    assert is_minted("rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert not is_minted("user-rcp_1")


def test_what_is_right_comes_back_in_its_one_spelling() -> None:
    fields = RecipientFields(
        kind=RecipientKind.GUEST,
        email="Jane@Example.COM",
        phone="+1 415 555 0123",
        locale="ZH-hant-tw",
        timezone="Europe/Vienna",
        attributes={"first_name": "Jane"},
    )
    checked, errors = check_fields(fields, "/to")
    assert errors == []
    assert {channel: address.text for channel, address in checked.addresses.items() if address} == {
        Channel.EMAIL: "jane@example.com",
        PHONE: "+14155550123",
    }
    assert (checked.kind, checked.locale, checked.timezone) == (RecipientKind.GUEST, "zh-Hant-TW", "Europe/Vienna")


def test_nothing_said_is_nothing_changed() -> None:
    checked, errors = check_fields(RecipientFields(), "")
    assert errors == []
    assert (checked.kind, checked.locale, checked.timezone, checked.attributes) == (None, UNSET, UNSET, UNSET)
    assert checked.addresses == {}


def test_null_removes() -> None:
    checked, errors = check_fields(
        RecipientFields(email=None, phone=None, locale=None, timezone=None, attributes=None), ""
    )
    assert errors == []
    assert (checked.locale, checked.timezone, checked.attributes) == (None, None, None)
    assert checked.addresses == {Channel.EMAIL: None, PHONE: None}


def test_everything_wrong_is_named_at_once_and_not_repeated() -> None:
    fields = RecipientFields(
        kind=RecipientKind.ANONYMOUS,
        email="secret.person",
        phone="555",
        locale="secret_locale",
        timezone="secret/zone",
        attributes={"": "secret value"},
    )
    _, errors = check_fields(fields, "/to/3")
    assert sorted(error.pointer for error in errors) == [
        "/to/3/attributes",
        "/to/3/email",
        "/to/3/kind",
        "/to/3/locale",
        "/to/3/phone",
        "/to/3/timezone",
    ]
    assert not any("secret" in error.message for error in errors)
    assert "secret" not in repr(RecipientFields(email="secret", phone="secret", attributes={"a": "secret"}))


@pytest.mark.parametrize("zone", ["America", "../etc/passwd", "", "x" * 5000, "europe/vienna", "Europe/Vienna\x00"])
def test_zones_that_are_none(zone: str) -> None:
    _, errors = check_fields(RecipientFields(timezone=zone), "")
    assert [(error.pointer, error.code) for error in errors] == [("/timezone", "invalid_timezone")]


@pytest.mark.parametrize(
    ("given_tag", "spelled"), [("en", "en"), ("EN-us", "en-US"), ("de-1901", "de-1901"), ("es-419", "es-419")]
)
def test_locales(given_tag: str, spelled: str) -> None:
    assert check_fields(RecipientFields(locale=given_tag), "")[0].locale == spelled


@pytest.mark.parametrize("tag", ["", "e", "english language", "en_US", "en-", "x" * 5000, "en-US\n"])
def test_locales_that_are_none(tag: str) -> None:
    _, errors = check_fields(RecipientFields(locale=tag), "")
    assert [error.code for error in errors] == ["invalid_locale"]


def _nested(depth: int) -> Any:
    return "x" if depth == 0 else {"a": _nested(depth - 1)}


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({f"key{number}": 1 for number in range(201)}, "too_many"),
        ({"a": "x" * 32_768}, "too_large"),
        ({"a" * 129: 1}, "invalid_name"),
        (_nested(9), "too_deep"),
        ({"a": {"b": ["x\x00"]}}, "invalid_text"),
        ({"a": {"b\x00": 1}}, "invalid_text"),
        ({"a": "\ud800"}, "invalid_text"),
    ],
)
def test_attributes_that_cannot_be_kept(attributes: JsonObject, code: str) -> None:
    (error,) = check_attributes(attributes, "/attributes")
    assert (error.pointer, error.code) == ("/attributes", code)


def test_attributes_at_their_limits() -> None:
    assert list(check_attributes({f"key{number}": 1 for number in range(200)}, "")) == []
    assert list(check_attributes(_nested(8), "")) == []
    assert list(check_attributes({"a": "x" * (32_768 - 8)}, "")) == []
