"""Arrays of ids, texts, bytes and numbers as they cross the wire, written and read whole.

The driver asks of every element whether it is an array itself, and then writes it by itself: a bulk of ten thousand has
a hundred thousand of them. Only arrays of one dimension: no statement here has others.
"""

import struct
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast
from uuid import UUID

import asyncpg

Element = TypeVar("Element")

_HEAD: Final = struct.Struct(">iiIii")
"""Dimensions, flags, the type of the elements, how many there are, the number of the first."""
_EMPTY: Final = struct.Struct(">iiI")
_SIZE: Final = struct.Struct(">i")
_SIZES: Final = [_SIZE.pack(size) for size in range(1024)]
_SIZE_OF_ID: Final = _SIZE.pack(16)
_NO_ARRAYS: Final = (str, bytes, bytearray, memoryview, dict)

_ID: Final = 2950
_TEXT: Final = 25
_PIECE: Final = 17
_NUMBER: Final = 23
_SIZE_OF_NUMBER: Final = 4

_Driver: Final = cast("type[Any]", vars(asyncpg)["Connection"])


class _Codecs(Protocol):
    def add_python_codec(self, *args: Any) -> None: ...


class ArrayType(NamedTuple):
    oid: int
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], list[Any]]


class WholeArrays(_Driver):
    """A connection that speaks so."""

    __slots__ = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # pyright: ignore[reportUnknownMemberType] - the driver has no types
        _use_whole_arrays(self._protocol.get_settings())


def _use_whole_arrays(codecs: _Codecs) -> None:
    """`codecs`: the driver's settings of one connection. It would take no codec of arrays by its front door."""
    for kind in ARRAY_TYPES:
        codecs.add_python_codec(kind.oid, kind.name, "pg_catalog", [], "scalar", kind.write, kind.read, "binary")


def _write_ids(ids: Collection[UUID | str | None]) -> bytes:
    try:
        pieces = [one.bytes for one in cast("Collection[UUID]", ids)]
    except AttributeError:
        return _write(_ID, [None if one is None else UUID(str(one)).bytes for one in _elements(ids)])
    if not pieces:
        return _write(_ID, pieces)
    return _HEAD.pack(1, 0, _ID, len(pieces), 1) + _SIZE_OF_ID + _SIZE_OF_ID.join(pieces)


def _write_texts(texts: Collection[str | None]) -> bytes:
    return _write(_TEXT, [None if text is None else text.encode() for text in _elements(texts)])


def _write_pieces(pieces: Collection[bytes | None]) -> bytes:
    return _write(_PIECE, list(_elements(pieces)))


def _write_numbers(numbers: Collection[int | None]) -> bytes:
    written = [_SIZE_OF_NUMBER] * (2 * len(_elements(numbers)))
    try:
        written[1::2] = cast("Collection[int]", numbers)
        body = struct.pack(f">{len(written)}i", *written)
    except struct.error:
        # Some of them are NULL, or no numbers, or too large.
        return _write(_NUMBER, [None if number is None else _SIZE.pack(number) for number in numbers])
    return _HEAD.pack(1, 0, _NUMBER, len(numbers), 1) + body if body else _write(_NUMBER, ())


def _elements(array: Collection[Element]) -> Collection[Element]:
    if isinstance(array, _NO_ARRAYS):
        raise TypeError("a sized iterable container expected")
    return array


def _write(element: int, pieces: Sequence[bytes | None]) -> bytes:
    if not pieces:
        return _EMPTY.pack(0, 0, element)
    written: list[bytes] = [b""] * (2 * len(pieces))
    try:
        present = cast("Sequence[bytes]", pieces)
        written[::2] = [_SIZES[len(piece)] for piece in present]
        written[1::2] = present
    except (IndexError, TypeError):
        # Some of them are long, or NULL.
        written[::2] = [_SIZE.pack(-1 if piece is None else len(piece)) for piece in pieces]
        written[1::2] = [piece or b"" for piece in pieces]
    return _HEAD.pack(1, 0, element, len(pieces), 1) + b"".join(written)


def _read_ids(array: bytes) -> list[UUID | None]:
    return [None if piece is None else UUID(bytes=piece) for piece in _read(array)]


def _read_texts(array: bytes) -> list[str | None]:
    return [None if piece is None else piece.decode() for piece in _read(array)]


def _read_numbers(array: bytes) -> list[int | None]:
    inner = len(array) - _HEAD.size
    if inner > 0 and (count := _HEAD.unpack_from(array)[3]) * 2 * _SIZE_OF_NUMBER == inner and array[3] == 1:
        # With no NULL among them, all take the same room.
        return list(struct.unpack_from(f">{2 * count}i", array, _HEAD.size)[1::2])
    return [None if piece is None else _SIZE.unpack(piece)[0] for piece in _read(array)]


def _read(array: bytes) -> list[bytes | None]:
    if len(array) == _EMPTY.size:
        return []
    dimensions, _, _, count, _ = _HEAD.unpack_from(array)
    if dimensions != 1:
        raise ValueError("an array of several dimensions")
    pieces: list[bytes | None] = []
    at = _HEAD.size
    for _ in range(count):
        (size,) = _SIZE.unpack_from(array, at)
        at += 4
        if size < 0:
            pieces.append(None)
            continue
        pieces.append(array[at : at + size])
        at += size
    return pieces


ARRAY_TYPES: Final = (
    ArrayType(2951, "_uuid", _write_ids, _read_ids),
    ArrayType(1009, "_text", _write_texts, _read_texts),
    ArrayType(1001, "_bytea", _write_pieces, _read),
    ArrayType(1007, "_int4", _write_numbers, _read_numbers),
)
