"""The skeleton of a version's messages: all that is the same in each of them, encoded once, with places for values.

A child sends it once and then, for each message, only what is said in it: the lines of its head and its values, each
encoded already (`mail_skeleton`). Every piece, of either kind, begins at the start of a line and never with a dot, so
pieces that are safe by themselves make a message that ends where it should.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, TypeVar

import msgspec

Piece = TypeVar("Piece")

BETWEEN: Final = "\0"
"""Between the pieces that are said. No head and no encoded value holds one."""
_BETWEEN: Final = BETWEEN.encode()
LARGEST: Final = 4 * 1024 * 1024
"""Of a message that is filled; larger ones are made whole."""
_BEGINS_WITH_DOT: Final = re.compile(rb"\.(?<=[\r\n\0]\.)")


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

    __slots__ = ("_literal_bytes", "_pick", "_pieces", "_places", "_said")

    def __init__(self, skeleton: Skeleton) -> None:
        """Raises `Untrue`."""
        literals, printed = skeleton.literals, skeleton.printed
        if len(literals) != len(printed) + 1 or not printed or not all(0 <= each < skeleton.said for each in printed):
            raise Untrue
        if any(_is_unsafe(literal) for literal in literals) or not literals[-1].endswith(b"\r\n"):
            raise Untrue
        self._pieces = [b""] * (2 * len(printed) + 1)
        self._pieces[::2] = literals
        self._pick: Callable[[list[bytes]], Sequence[bytes]] = picker(printed)
        self._places = len(printed)
        self._said = skeleton.said
        self._literal_bytes = sum(map(len, literals))

    def most_bytes(self, said: int) -> int:
        """Of a message of which so many bytes are said: all of them in each place would be the most."""
        return self._literal_bytes + said * self._places

    def filled(self, said: bytes) -> bytes:
        """The message. Raises `Untrue` where it could end early, or is larger than it may be."""
        if _is_unsafe(said) or self.most_bytes(len(said)) > LARGEST:
            raise Untrue
        values = said.split(_BETWEEN)
        if len(values) != self._said:
            raise Untrue
        pieces = self._pieces.copy()
        pieces[1::2] = self._pick(values)
        return b"".join(pieces)


def picker(numbers: Sequence[int]) -> Callable[[list[Piece]], Sequence[Piece]]:
    """What is at these places of a list."""
    if not numbers:
        return lambda _: ()
    if len(numbers) == 1:
        only = numbers[0]
        return lambda values: (values[only],)
    return itemgetter(*numbers)


def _is_unsafe(piece: bytes) -> bool:
    return piece.startswith(b".") or _BEGINS_WITH_DOT.search(piece) is not None
