"""Arrays as they cross the wire: what is written is read again as it was, and what is no array is refused."""

import struct
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.adapters.postgres.arrays import ARRAY_TYPES

_BY_NAME = {kind.name: kind for kind in ARRAY_TYPES}
_ELEMENTS = {
    "_uuid": st.uuids(),
    "_text": st.text(max_size=20),
    "_bytea": st.binary(max_size=20),
    "_int4": st.integers(-(1 << 31), (1 << 31) - 1),
}


@pytest.mark.parametrize("name", sorted(_ELEMENTS))
@given(data=st.data())
def test_an_array_is_read_as_it_was_written(name: str, data: st.DataObject) -> None:
    kind = _BY_NAME[name]
    array = data.draw(st.lists(st.none() | _ELEMENTS[name]))
    assert kind.read(kind.write(array)) == array
    assert kind.read(kind.write(tuple(array))) == array


@given(st.lists(st.binary(min_size=1020, max_size=1030), max_size=3))
@example([b"x" * 100_000, b"", b"y"])
def test_long_elements_are_written_whole(array: list[bytes]) -> None:
    kind = _BY_NAME["_bytea"]
    assert kind.read(kind.write(array)) == array


def test_ids_may_be_given_in_words() -> None:
    kind, one = _BY_NAME["_uuid"], UUID(int=7)
    assert kind.read(kind.write([str(one), one, None])) == [one, one, None]


def test_an_empty_array_has_no_dimension() -> None:
    assert [kind.write([]) for kind in ARRAY_TYPES] == [struct.pack(">iiI", 0, 0, oid) for oid in (2950, 25, 17, 23)]


@pytest.mark.parametrize("kind", ARRAY_TYPES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("stranger", ["abc", b"abc", {"a": 1}, 7, [7.5]], ids=str)
def test_what_is_no_array_of_them_is_refused(kind: object, stranger: object) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError, struct.error)):
        kind.write(stranger)  # type: ignore[attr-defined]


def test_an_array_of_several_dimensions_is_refused() -> None:
    square = struct.pack(">iiIiiii", 2, 0, 25, 1, 1, 1, 1) + struct.pack(">i", 1) + b"a"
    with pytest.raises(ValueError, match="dimensions"):
        _BY_NAME["_text"].read(square)


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1])
def test_numbers_that_do_not_fit_are_refused(number: int) -> None:
    with pytest.raises(struct.error):
        _BY_NAME["_int4"].write([1, number])
