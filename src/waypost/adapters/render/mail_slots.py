"""Templates that do nothing but print values, and most do: filled without the engine, five times faster.

The literals are encoded once for all messages, and a value once for each message, however often it is printed. Whatever
is not plainly there, a name or a type, is left to the engine, which knows what it means or how to refuse it.
"""

import re
from typing import Final

from waypost.adapters.render.mail_quoted import ValueQuoter, literal_pieces
from waypost.templates.model import JsonObject

_VALUE: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}\Z", re.ASCII)
# Words that mean something to the engine whatever the context says.
_RESERVED: Final = frozenset(
    {"true", "false", "none", "True", "False", "None", "self", "loop", "super", "caller", "varargs", "kwargs"}
)


class SlottedTemplate:
    __slots__ = ("_paths", "_pieces", "_slots")

    def __init__(self, pieces: list[str], slots: list[tuple[int, int]], paths: list[tuple[str, ...]]) -> None:
        self._pieces = pieces
        self._slots = slots
        """Where in the pieces which of the paths is printed."""
        self._paths = paths

    @classmethod
    def of(cls, source: str) -> "SlottedTemplate | None":
        """None where a tag does more than print a value of the context."""
        found = literal_pieces(source)
        if found is None:
            return None
        pieces, slots = list[str](), list[tuple[int, int]]()
        numbers: dict[tuple[str, ...], int] = {}
        for is_tag, text in found:
            if not is_tag:
                pieces.append(text)
                continue
            value = _VALUE.match(text)
            if value is None:
                return None
            path = tuple(value[1].split("."))
            if path[0] in _RESERVED:
                return None
            slots.append((len(pieces), numbers.setdefault(path, len(numbers))))
            pieces.append("")
        return cls(pieces, slots, list(numbers))

    def fill(self, context: JsonObject, quoter: ValueQuoter) -> str | None:
        """The quoted-printable text, or None where only the engine can tell what to print."""
        quoter.met_oddity = False
        values = list[str]()
        for path in self._paths:
            value: object = context
            for name in path:
                if not isinstance(value, dict) or name not in value:
                    return None
                value = value[name]  # pyright: ignore[reportUnknownVariableType] — contexts are plain JSON
            values.append(quoter(value))  # pyright: ignore[reportUnknownArgumentType]
        if quoter.met_oddity:
            return None
        pieces = self._pieces.copy()
        for place, number in self._slots:
            pieces[place] = values[number]
        return "".join(pieces)
