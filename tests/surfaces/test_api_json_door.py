"""The JSON door: junk is refused with a pointer, never with a crash, and nothing of the caller's values comes back."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from waypost.api.http_errors import UnsupportedMediaType
from waypost.api.json_body import check_media_type, read_body, read_object, read_parameters
from waypost.api.request_parts import query_of
from waypost.kernel.errors import MalformedRequest, Refused


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    email: Annotated[str, Meta(max_length=20)]
    age: int | None = None
    tags: dict[str, str] = {}


class Letter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    to: str | Person | list[str | Person]


def _nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


UNREADABLE = [
    (b"", "invalid_json"),
    (b"{", "invalid_json"),
    (b'{"to": "x"} {}', "invalid_json"),
    (b"{'to': 1}", "invalid_json"),
    (b'{"to": "\xff"}', "not_utf8"),
    (b'{"to": "\xed\xa0\x80"}', "not_utf8"),
    (b'\xef\xbb\xbf{"to": "x"}', "invalid_json"),
    (b"[]", "not_an_object"),
    (b'"x"', "not_an_object"),
    (b"null", "not_an_object"),
    (b'{"to": "a", "to": "b"}', "duplicate_key"),
    (b'{"a": [{"b": 1, "b": 2}]}', "duplicate_key"),
    (b'{"to": NaN}', "not_finite"),
    (b'{"to": -Infinity}', "not_finite"),
    (b'{"to": 1e999}', "number_too_large"),
    (b'{"to": -1e999}', "number_too_large"),
    (b'{"to": ' + b"9" * 5000 + b"}", "number_too_large"),
    (b'{"to": 9223372036854775808}', "number_too_large"),
    (b'{"to": "a\x00b"}', "invalid_json"),
    (b'{"to": "a\\u0000b"}', "unstorable_character"),
    (b'{"to": ["x", {"email": "\\ud800"}]}', "unstorable_character"),
    (b'{"a\\udc00": 1}', "unstorable_character"),
    (_nested(65), "too_deep"),
    (_nested(10_000), "too_deep"),
    (b"[" * 200_000, "too_deep"),
]


@pytest.mark.parametrize(("body", "code"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_unreadable_bodies_are_refused(body: bytes, code: str) -> None:
    with pytest.raises(MalformedRequest) as refusal:
        read_object(body)
    assert refusal.value.code == code


def test_sixty_four_levels_and_harmless_escapes_pass() -> None:
    assert read_object(_nested(64))
    assert read_object(b'{"a": "\\\\u0000 \\u00e9 \\ud83d\\ude00"}') == {"a": "\\u0000 é 😀"}
    assert read_object(b'{"a": "' + b"[{" * 1000 + b'"}')["a"].startswith("[{")


def test_the_pointer_names_the_unstorable_string() -> None:
    with pytest.raises(MalformedRequest) as refusal:
        read_object(b'{"to": [{"a/b": "\\u0000"}]}')
    assert [error.pointer for error in refusal.value.errors] == ["/to/0/a~1b"]


MISSHAPEN = [
    ({}, "/to", "required"),
    ({"to": 5}, "/to", "wrong_type"),
    ({"to": {"email": 5}}, "/to/email", "wrong_type"),
    ({"to": {}}, "/to/email", "required"),
    ({"to": {"email": "jane@example.com", "emial": 1}}, "/to/emial", "unknown_field"),
    ({"to": [{"email": "a"}, {"email": "jane.jane.jane@example.com"}]}, "/to/1/email", "out_of_range"),
    ({"to": {"email": "a", "age": True}}, "/to/age", "wrong_type"),
    ({"to": {"email": "a", "age": "7"}}, "/to/age", "wrong_type"),
    ({"to": {"email": "a", "tags": {"x": 1}}}, "/to/tags/x", "wrong_type"),
    ({"to": "x", "a/b~c": 1}, "/a~1b~0c", "unknown_field"),
]


@pytest.mark.parametrize(("plain", "pointer", "code"), MISSHAPEN, ids=range(len(MISSHAPEN)))
def test_misshapen_bodies_name_the_field(plain: dict[str, object], pointer: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_body(json.dumps(plain).encode(), Letter)
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [(pointer, code)]
    assert "jane" not in refusal.value.detail
    assert "jane" not in refusal.value.errors[0].message


class Page(msgspec.Struct, forbid_unknown_fields=True):
    body: str
    format: Literal["html", "text"] = "html"
    until: Annotated[datetime, Meta(tz=True)] | None = None


class Book(msgspec.Struct, forbid_unknown_fields=True):
    pages: dict[str, Page] = {}
    shelves: dict[str, dict[str, Page]] = {}
    marks: dict[Literal["left", "right"], bool | None] = {}
    since: Annotated[Annotated[datetime, Meta(tz=True)], Meta(description="When.")] | None = msgspec.field(
        name="from", default=None
    )


INSIDE_MAPS = [
    ({"pages": {"de": {"body": "x"}, "en": {}}}, "/pages/en/body", "required", "This field is required."),
    ({"pages": {"a/b": {"body": 5}}}, "/pages/a~1b/body", "wrong_type", "Expected a string."),
    (
        {"pages": {"de": {"body": "x"}, "en": {"body": "x", "format": "pdf"}, "fr": {"body": "x"}}},
        "/pages/en/format",
        "unknown_value",
        "Write one of html, text.",
    ),
    ({"pages": {"en": {"body": "x", "fromat": "html"}}}, "/pages/en/fromat", "unknown_field", "Is it `format`?"),
    ({"pages": {"en": {"body": "x", "zzz": 1}}}, "/pages/en/zzz", "unknown_field", "`body`, `format`, `until`"),
    ({"shelves": {"a": {}, "b": {"en": {"body": "x"}, "de": {}}}}, "/shelves/b/de/body", "required", "required"),
    ({"marks": {"left": True, "up": False}}, "/marks/up", "unknown_value", "Write one of left, right."),
    ({"marks": {"left": None, "right": "no"}}, "/marks/right", "wrong_type", "Expected true or false or null."),
    ({"marks": 5}, "/marks", "wrong_type", "Expected an object."),
    ({"from": "9999-12-31T23:59:59-14:00"}, "/from", "invalid_time", "beyond"),
    ({"from": "0001-01-01T00:00:00+14:00"}, "/from", "invalid_time", "beyond"),
]


@pytest.mark.parametrize(("plain", "pointer", "code", "words"), INSIDE_MAPS, ids=range(len(INSIDE_MAPS)))
def test_a_field_inside_a_map_is_named_with_its_key_and_with_what_would_fit(
    plain: dict[str, object], pointer: str, code: str, words: str
) -> None:
    with pytest.raises(Refused) as refusal:
        read_body(json.dumps(plain).encode(), Book)
    [error] = refusal.value.errors
    assert (error.pointer, error.code) == (pointer, code)
    assert words in error.message


def test_the_culprit_among_ten_thousand_keys_is_found() -> None:
    pages: dict[str, object] = {f"p{n}": {"body": "x"} for n in range(10_000)}
    with pytest.raises(Refused) as refusal:
        read_body(json.dumps({"pages": pages | {"p7777": {"body": None}}}).encode(), Book)
    assert refusal.value.errors[0].pointer == "/pages/p7777/body"


def test_times_are_in_utc_inside() -> None:
    book = read_body(b'{"from": "2026-11-16T14:00:00+02:00"}', Book)
    assert book.since == datetime(2026, 11, 16, 12, tzinfo=UTC)
    assert book.since is not None
    assert book.since.tzinfo is UTC
    query = read_parameters({"from": "2026-11-16T14:00:00+02:00"}, Book)
    assert query.since is not None
    assert query.since.tzinfo is UTC


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_whatever_comes_in_is_read_or_refused_and_what_is_read_can_be_stored(plain: object) -> None:
    body = json.dumps({"to": plain}).encode()
    try:
        found = read_object(body)
    except Refused:
        return
    stored = json.dumps(found, ensure_ascii=False).encode("utf-8")
    assert b"\\u0000" not in stored.replace(b"\\\\", b"")
    assert found == {"to": plain}


@given(st.binary(max_size=200))
def test_random_bytes_never_crash_the_door(body: bytes) -> None:
    with suppress(Refused):
        read_body(body, Letter)


@pytest.mark.parametrize(
    "given_type", [None, "", "text/plain", "application/jsonp", "application/json; charset=latin-1"]
)
def test_other_media_types_are_refused(given_type: str | None) -> None:
    with pytest.raises(UnsupportedMediaType):
        check_media_type(given_type)


@pytest.mark.parametrize("given_type", ["application/json", "Application/JSON; charset=UTF-8", "application/json;"])
def test_json_in_utf8_is_taken(given_type: str) -> None:
    check_media_type(given_type)


@pytest.mark.parametrize("query", [b"a=%00", b"a=%ff", b"a=1&a=2", b"a=\xff", b"&".join([b"a"] * 60), b"a=%ed%a0%80"])
def test_junk_queries_are_refused(query: bytes) -> None:
    with pytest.raises(MalformedRequest):
        query_of(query)
