"""The JSON door: junk is refused with a pointer, never with a crash, and nothing of the caller's values comes back."""

import json
from contextlib import suppress
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from waypost.api.http_errors import UnsupportedMediaType
from waypost.api.json_body import check_media_type, read_body, read_object
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
    ({"to": {"email": "a", "tags": {"x": 1}}}, "/to/tags", "wrong_type"),
    ({"to": "x", "a/b~c": 1}, "/a~1b~0c", "unknown_field"),
]


@pytest.mark.parametrize(("plain", "pointer", "code"), MISSHAPEN, ids=range(len(MISSHAPEN)))
def test_misshapen_bodies_name_the_field(plain: dict[str, object], pointer: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_body(json.dumps(plain).encode(), Letter)
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [(pointer, code)]
    assert "jane" not in refusal.value.detail
    assert "jane" not in refusal.value.errors[0].message


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
