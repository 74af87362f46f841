"""The skeleton of a version's messages: all that is the same in each of them, encoded once, with places for values.

A child sends it once and then, for each message, only what is said in it: the lines of its head and its values, each
encoded already (`mail_skeleton`). Every piece, of either kind, begins at the start of a line and never with a dot, so
pieces that are safe by themselves make a message that ends where it should.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, Protocol, TypeVar

import msgspec

Key = TypeVar("Key", contravariant=True)
Piece = TypeVar("Piece", covariant=True)

BETWEEN: Final = "\0"
"""Between the pieces that are said. No head and no encoded value holds one."""
_BETWEEN: Final = BETWEEN.encode()
_BEGINS_WITH_DOT: Final = re.compile(rb"\.(?<=[\r\n\0]\.)")
LARGEST: Final = 4 * 1024 * 1024
"""Of a message that is filled; larger ones are made whole."""


class Skeleton(msgspec.Struct, array_like=True, frozen=True):
    literals: list[bytes]
    printed: list[int]
    """Which of the pieces said stands after each literal but the last."""
    said: int
    """How many pieces are said of a message."""


class Untrue(Exception):
    """What a child has sent is no message. It holds nothing that was said."""


class Frame:
    """A skeleton, ready to be filled many times."""

    __slots__ = ("_pick", "_pick_words", "_pieces", "_places", "_words", "literal_bytes", "said")

    def __init__(self, skeleton: Skeleton) -> None:
        """Raises `Untrue`."""
        literals, printed = skeleton.literals, skeleton.printed
        if len(literals) != len(printed) + 1 or not printed or not all(0 <= each < skeleton.said for each in printed):
            raise Untrue
        if any(map(_is_no_literal, literals)) or not literals[-1].endswith(b"\r\n"):
            raise Untrue
        self._pieces = [b""] * (2 * len(printed) + 1)
        self._pieces[::2] = literals
        self._words = [piece.decode("ascii") for piece in self._pieces]
        self._pick_words: Callable[[list[str]], Sequence[str]] = picker(printed)
        self._pick: Callable[[list[bytes]], Sequence[bytes]] = picker(printed)
        self._places = len(printed)
        self.said = skeleton.said
        self.literal_bytes = sum(map(len, literals))

    def most_bytes(self, said: int) -> int:
        """Of a message of which so many bytes are said: all of them in each place would be the most."""
        return self.literal_bytes + said * self._places

    def filled_with(self, values: list[str]) -> bytes:
        """The message of pieces that were made here and are safe by themselves, as are its literals. Raises `Untrue`
        where it is larger than it may be."""
        if self.most_bytes(sum(map(len, values))) > LARGEST:
            raise Untrue
        pieces = self._words.copy()
        pieces[1::2] = self._pick_words(values)
        return "".join(pieces).encode()

    def filled(self, said: bytes) -> bytes:
        """The message. Raises `Untrue` where it could end early, or is larger than it may be."""
        if _is_unsafe(said) or self.most_bytes(len(said)) > LARGEST:
            raise Untrue
        values = said.split(_BETWEEN)
        if len(values) != self.said:
            raise Untrue
        pieces = self._pieces.copy()
        pieces[1::2] = self._pick(values)
        return b"".join(pieces)


class _Holds(Protocol[Key, Piece]):
    def __getitem__(self, key: Key, /) -> Piece: ...


def picker(keys: Sequence[Key]) -> Callable[[_Holds[Key, Piece]], Sequence[Piece]]:
    """What is at these places of a list, or under these names."""
    if not keys:
        return lambda _: ()
    if len(keys) == 1:
        only = keys[0]
        return lambda values: (values[only],)
    return itemgetter(*keys)


def _is_no_literal(piece: bytes) -> bool:
    return _is_unsafe(piece) or not piece.isascii()


def _is_unsafe(piece: bytes) -> bool:
    return piece.startswith(b".") or _BEGINS_WITH_DOT.search(piece) is not None
