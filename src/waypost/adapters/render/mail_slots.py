"""Templates that do nothing but print values, and most do: filled without the engine, five times faster.

The literals are encoded once for all messages, and a value once for each message, however often it is printed. Whatever
is not plainly there, a name or a type, is left to the engine, which knows what it means or how to refuse it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from waypost.adapters.render.mail_quoted import ValueQuoter, literal_pieces, plain_pieces
from waypost.adapters.render.recipes import Path, PlainTemplate
from waypost.adapters.render.skeleton import picker
from waypost.templates.model import JsonObject

_VALUE: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}\Z", re.ASCII)
# Words that mean something to the engine whatever the context says.
RESERVED: Final = frozenset(
    {"true", "false", "none", "True", "False", "None", "self", "loop", "super", "caller", "varargs", "kwargs"}
)
_SMALLEST: Final = -(1 << 63)
_LARGEST: Final = (1 << 64) - 1


class SlottedTemplate:
    """Literals with a value after each but the last."""

    __slots__ = ("_pick", "_pieces", "_values_in", "literals", "printed")

    def __init__(self, literals: list[str], printed: list[Path]) -> None:
        self.literals = literals
        self.printed = printed
        numbers = {path: number for number, path in enumerate(dict.fromkeys(printed))}
        self._pieces = [""] * (2 * len(printed) + 1)
        self._pieces[::2] = literals
        self._pick = picker([numbers[path] for path in printed])
        self._values_in = looking_up(list(numbers))

    @classmethod
    def of(cls, source: str) -> "SlottedTemplate | None":
        """For quoted-printable text. None where a tag does more than print a value of the context."""
        return cls._of(literal_pieces(source))

    @classmethod
    def as_it_is(cls, source: str) -> "SlottedTemplate | None":
        """For text that is not encoded. The engine leaves out a last line end, which may be two characters."""
        return None if "\r" in source else cls._of(plain_pieces(source.removesuffix("\n")))

    @classmethod
    def _of(cls, found: list[tuple[bool, str]] | None) -> "SlottedTemplate | None":
        if found is None:
            return None
        literals, printed = [""], list[Path]()
        for is_tag, text in found:
            if not is_tag:
                literals[-1] += text
                continue
            value = _VALUE.match(text)
            path = tuple(value[1].split(".")) if value else ()
            if not path or path[0] in RESERVED:
                return None
            printed.append(path)
            literals.append("")
        return cls(literals, printed)

    @property
    def shown(self) -> PlainTemplate:
        return PlainTemplate(self.literals, self.printed)

    def fill(self, context: JsonObject, quoter: ValueQuoter) -> str | None:
        """The quoted-printable text, or None where only the engine can tell what to print."""
        quoter.met_oddity = False
        text = self._fill(context, quoter)
        return None if quoter.met_oddity else text

    def fill_plain(self, context: JsonObject) -> str | None:
        """What the engine would print, with the values as they are; None where only the engine can tell."""
        return self._fill(context, as_it_is)

    def _fill(self, context: JsonObject, spell: Callable[[object], str]) -> str | None:
        try:
            values = [spell(value) for value in self._values_in(context)]
        except (KeyError, TypeError):
            return None
        pieces = self._pieces.copy()
        pieces[1::2] = self._pick(values)
        return "".join(pieces)


def looking_up(paths: Sequence[Path]) -> Callable[[JsonObject], Sequence[object]]:
    """Tells what is at each path of a context. Raises `KeyError` or `TypeError` where one is not plainly there: the
    engine knows what to print then, or how to refuse."""
    if all(len(path) == 1 for path in paths):
        return picker([name for (name,) in paths])
    return lambda context: [_value_at(path, context) for path in paths]


def _value_at(path: Path, context: JsonObject) -> object:
    value: object = context
    for name in path:
        if type(value) is not dict:
            raise TypeError
        value = value[name]  # pyright: ignore[reportUnknownVariableType] — contexts are plain JSON
    return value  # pyright: ignore[reportUnknownVariableType]


def as_it_is(value: object) -> str:
    """Raises `TypeError` where only the engine knows how to print it."""
    if type(value) is str:
        return value
    if type(value) is int and is_within_reach(value):
        return str(value)
    raise TypeError


def is_within_reach(value: int) -> bool:
    """Larger numbers never reach a child, and are refused."""
    return _SMALLEST <= value <= _LARGEST
