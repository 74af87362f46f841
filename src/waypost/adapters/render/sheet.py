"""The skeleton of a content's parts as they are shown: what is the same for everybody crosses once, values each time.

The same idea as the skeleton of a mail (`skeleton`), for parts that are not encoded.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from waypost.adapters.render.skeleton import LARGEST, Untrue, picker
from waypost.templates.ports import RenderedParts


class SheetPart(msgspec.Struct, array_like=True, frozen=True):
    literals: list[str]
    printed: list[int]
    """Which of the values stands after each literal but the last."""


class Sheet(msgspec.Struct, array_like=True, frozen=True):
    values: int
    """How many are told of a message."""
    html: SheetPart | None
    text: SheetPart
    preheader: SheetPart | None


class FillableSheet:
    """A sheet, ready to be filled many times."""

    __slots__ = ("_html", "_places", "_preheader", "_text", "literal_size", "values")

    def __init__(self, sheet: Sheet) -> None:
        """Raises `Untrue`."""
        parts = [part for part in (sheet.html, sheet.text, sheet.preheader) if part is not None]
        self.values = sheet.values
        self._html = None if sheet.html is None else _Part(sheet.html, sheet.values)
        self._text = _Part(sheet.text, sheet.values)
        self._preheader = None if sheet.preheader is None else _Part(sheet.preheader, sheet.values)
        self.literal_size = sum(len(literal) for part in parts for literal in part.literals)
        self._places = sum(len(part.printed) for part in parts)

    def most(self, values: Sequence[str]) -> int:
        """How long the parts can be at most: all of the values in each place."""
        return self.most_of(sum(map(len, values)))

    def most_of(self, characters: int) -> int:
        """The same of values that are so long together."""
        return self.literal_size + characters * self._places

    def filled(self, subject: str, values: list[str]) -> RenderedParts:
        """Raises `Untrue` where these are not its values, or make more of it than there may be."""
        if len(values) != self.values or self.most(values) > LARGEST:
            raise Untrue
        html, preheader = self._html, self._preheader
        return RenderedParts(
            subject=subject,
            html=None if html is None else html.filled(values),
            text=self._text.filled(values),
            preheader=None if preheader is None else preheader.filled(values),
        )


class _Part:
    __slots__ = ("_pick", "_pieces")

    def __init__(self, part: SheetPart, values: int) -> None:
        literals, printed = part.literals, part.printed
        if len(literals) != len(printed) + 1 or not all(0 <= number < values for number in printed):
            raise Untrue
        self._pieces = [""] * (2 * len(printed) + 1)
        self._pieces[::2] = literals
        self._pick: Final = picker(printed)

    def filled(self, values: list[str]) -> str:
        pieces = self._pieces.copy()
        pieces[1::2] = self._pick(values)
        return "".join(pieces)
