"""The quick way to read a body and the careful one never tell two stories."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.api.json_body import _read_plainly, _read_warily  # pyright: ignore[reportPrivateUsage]
from waypost.kernel.errors import MalformedRequest

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
