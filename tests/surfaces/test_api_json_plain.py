"""The quick way to read a body and the careful one never tell two stories."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.api.bulk_body import NDJSON, read_items
from waypost.api.json_body import (
    _read_plainly,  # pyright: ignore[reportPrivateUsage]
    _read_warily,  # pyright: ignore[reportPrivateUsage]
    read_body,
    read_together,
)
from waypost.kernel.errors import MalformedRequest, Refused

_KEYS = st.sampled_from(["a", "b", "a:b", 'c"', "ü", ""]) | st.text(max_size=4)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4))
_PAIRS = st.lists(st.tuples(_KEYS, _VALUES), max_size=5)


def _written(pairs: list[tuple[str, Any]], *, ascii_only: bool, spaced: bool) -> bytes:
    """An object that may name a key twice, as no dictionary can."""
    separators = (", ", " : ") if spaced else (",", ":")
    members = [
        json.dumps(name, ensure_ascii=ascii_only)
        + separators[1]
        + json.dumps(value, ensure_ascii=ascii_only, separators=separators)
        for name, value in pairs
    ]
    return ("{" + separators[0].join(members) + "}").encode("utf-8", "surrogatepass")


@given(pairs=_PAIRS, ascii_only=st.booleans(), spaced=st.booleans())
def test_what_is_read_quickly_reads_the_same_with_care(
    pairs: list[tuple[str, Any]], ascii_only: bool, spaced: bool
) -> None:
    body = _written(pairs, ascii_only=ascii_only, spaced=spaced)
    plain = _read_plainly(body)
    if plain is not None:
        assert repr(plain) == repr(_read_warily(body))


@given(body=st.binary(max_size=40))
def test_bytes_that_are_read_quickly_read_the_same_with_care(body: bytes) -> None:
    plain = _read_plainly(b'{"a":' + body + b"}")
    if plain is not None:
        assert repr(plain) == repr(_read_warily(b'{"a":' + body + b"}"))


class _Item(msgspec.Struct):
    a: Any = None
    b: str = ""


def _read_alone(body: bytes) -> _Item | Refused:
    try:
        return read_body(body, _Item)
    except Refused as refusal:
        return refusal


@given(items=st.lists(_PAIRS | _PAIRS.map(lambda pairs: [("a", dict(pairs))]), min_size=1, max_size=4))
def test_items_that_are_read_together_read_the_same_alone(items: list[list[tuple[str, Any]]]) -> None:
    bodies = [_written(pairs, ascii_only=False, spaced=False) for pairs in items]
    together = read_together(bodies, _Item)
    if together is not None:
        assert repr(together) == repr([_read_alone(body) for body in bodies])


def test_everyday_items_are_read_together() -> None:
    assert read_together([b'{"a":1}', b'{"b":"12:30"}'], _Item) == [_Item(a=1), _Item(b="12:30")]


@pytest.mark.parametrize(
    "odd",
    [
        b'{"a":1,"a":2}',
        b'{"a":"\\u0000"}',
        b'{"a":9223372036854775808}',
        b'{"b":1}',
        b"7",
        b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
    ],
)
def test_among_others_an_odd_item_reads_as_it_does_alone(odd: bytes) -> None:
    body = b'[{"a":1},' + odd + b',{"a":3}]'
    ((first, read, last),) = read_items("application/json", body, _Item).slices()
    assert (first[1], last[1]) == (_Item(a=1), _Item(a=3))
    alone = _read_alone(odd)
    assert isinstance(alone, Refused)
    assert repr(read[1]) == repr(alone)


def test_lines_that_are_json_only_together_are_refused_each() -> None:
    lines = b'{"a":[1\n2]}\n{"a":1},{"a":2}'
    (read,) = read_items(NDJSON, lines, _Item).slices()
    assert [type(item) for _, item in read] == [MalformedRequest] * 3


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b'[{"a":":","a":"::"}]',
        b'{"a":"\\u0000"}',
        b'{"a":9223372036854775808}',
        b'{"a":1e999}',
        b'{"a":NaN}',
        b'{"a":"\xff"}',
        b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
    ],
)
def test_what_must_be_refused_is_never_read_quickly(body: bytes) -> None:
    assert _read_plainly(body) is None
    with pytest.raises(MalformedRequest):
        _read_warily(body)


def test_an_everyday_body_is_read_quickly() -> None:
    body = b'{"to": {"id": "user-42", "email": "j\xc3\xb6rg@example.com"}, "n": [1, 2.5, null, true], "at": "12:30"}'
    assert _read_plainly(body) == json.loads(body)
