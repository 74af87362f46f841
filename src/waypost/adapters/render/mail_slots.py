"""Templates that do nothing but print values, and most do: filled without the engine, five times faster.

The literals are encoded once for all messages, and a value once for each message, however often it is printed. Whatever
is not plainly there, a name or a type, is left to the engine, which knows what it means or how to refuse it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from waypost.adapters.render.mail_quoted import ValueQuoter, literal_pieces, plain_pieces
from waypost.adapters.render.skeleton import picker
from waypost.templates.model import JsonObject

Spelled = TypeVar("Spelled")
Path = tuple[str, ...]
"""A name of the context, and names inside of what it is."""

_VALUE: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}\Z", re.ASCII)
# Words that mean something to the engine whatever the context says.
RESERVED: Final = frozenset(
    {"true", "false", "none", "True", "False", "None", "self", "loop", "super", "caller", "varargs", "kwargs"}
)


class SlottedTemplate:
    """Literals with a value after each but the last."""

    __slots__ = ("_paths", "_pick", "_pieces", "literals", "printed")

    def __init__(self, literals: list[str], printed: list[Path]) -> None:
        self.literals = literals
        self.printed = printed
        numbers = {path: number for number, path in enumerate(dict.fromkeys(printed))}
        self._pieces = [""] * (2 * len(printed) + 1)
        self._pieces[::2] = literals
        self._pick = picker([numbers[path] for path in printed])
        self._paths = split_paths(numbers)

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

    def fill(self, context: JsonObject, quoter: ValueQuoter) -> str | None:
        """The quoted-printable text, or None where only the engine can tell what to print."""
        quoter.met_oddity = False
        text = self._fill(context, quoter)
        return None if quoter.met_oddity else text

    def fill_plain(self, context: JsonObject) -> str | None:
        """What the engine would print, with the values as they are; None where only the engine can tell."""
        return self._fill(context, _as_it_is)

    def _fill(self, context: JsonObject, spell: Callable[[object], str]) -> str | None:
        values = values_at(self._paths, context, spell)
        if values is None:
            return None
        pieces = self._pieces.copy()
        pieces[1::2] = self._pick(values)
        return "".join(pieces)


def split_paths(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """For `values_at`: the name in the context, and those inside."""
    return [(path[0], path[1:]) for path in paths]


def values_at(
    paths: Sequence[tuple[str, Path]], context: JsonObject, spell: Callable[[object], Spelled]
) -> list[Spelled] | None:
    """What is at each path, spelled. None where one is not plainly there, or `spell` raises `TypeError`: the engine
    knows what to print then, or how to refuse."""
    values = list[Spelled]()
    try:
        for name, rest in paths:
            value: object = context[name]
            for inner in rest:
                if type(value) is not dict:
                    return None
                value = value[inner]  # pyright: ignore[reportUnknownVariableType] — contexts are plain JSON
            values.append(spell(value))  # pyright: ignore[reportUnknownArgumentType]
    except (KeyError, TypeError):
        return None
    return values


def _as_it_is(value: object) -> str:
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    raise TypeError
