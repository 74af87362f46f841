"""What is said in a message whose parts do nothing but print values: its values, encoded for text and for markup.

What is the same in every message is the skeleton, and is not touched again. Where a value is not plainly there, is of
another kind, or would have to be joined with what follows, the message is made the other way, part by part.
"""

from typing import Final

from waypost.adapters.render.mail_quoted import SOFT_BREAK, ValueQuoter, is_calm
from waypost.adapters.render.mail_slots import SlottedTemplate, is_within_reach
from waypost.adapters.render.printed_values import KnownForms, PrintedValues
from waypost.adapters.render.recipes import Path
from waypost.adapters.render.skeleton import Skeleton
from waypost.templates.model import JsonObject

_HEAD: Final = 0


class MailSkeleton:
    """Of the pieces said, the first is the head, then come each value for text and for markup, and at last the values
    with which a part ends."""

    def __init__(self, around: list[str], parts: list[tuple[SlottedTemplate, bool]]) -> None:
        """`around` stands before, between and after the parts, each of which is or is not markup."""
        paths = list(dict.fromkeys(path for part, _ in parts for path in part.printed))
        places = {path: 1 + 2 * number for number, path in enumerate(paths)}
        self.printed = paths
        self.ends: list[int] = []
        """Which of the pieces said are said once more, at last."""
        literals, printed = ["", around[0]], [_HEAD]
        for (part, is_markup), after in zip(parts, around[1:], strict=True):
            numbers = [places[path] + is_markup for path in part.printed]
            last = part.literals[-1].removesuffix(SOFT_BREAK)
            if numbers and not last:
                self.ends.append(numbers[-1])
                numbers[-1] = 2 * len(paths) + len(self.ends)
            literals[-1] += part.literals[0] if numbers else last
            literals += part.literals[1:-1]
            if numbers:
                literals.append(last)
            literals[-1] += after
            printed += numbers
        self.shown = Skeleton([each.encode() for each in literals], printed, 1 + 2 * len(paths) + len(self.ends))
        self.values = SaidValues(paths, self.ends).of


class SaidValues:
    """All that is said in a message but its head."""

    def __init__(self, printed: list[Path], ends: list[int]) -> None:
        self._values = PrintedValues(printed, QuotedForms())
        self._ends = ends

    def of(self, context: JsonObject) -> list[str] | None:
        """None where the message must be made the other way."""
        values = self._values.of(context)
        if values is None:
            return None
        for number in self._ends:
            bare = values[number - 1].removesuffix(SOFT_BREAK)
            if not bare or bare.endswith("\n"):
                return None
            values.append(bare)
        return values


class QuotedForms:
    """Each as a piece of its own."""

    __slots__ = ("_markup", "_text", "known")

    def __init__(self) -> None:
        self._text = ValueQuoter(markup=False)
        self._markup = ValueQuoter(markup=True)
        self.known = KnownForms()

    def of(self, value: object) -> tuple[str, str]:
        if type(value) is int and is_within_reach(value):
            form = f"{value}{SOFT_BREAK}"
            return form, form
        if type(value) is not str:
            raise TypeError
        if is_calm(value):
            form = value + SOFT_BREAK
            return form, form
        self._text.met_oddity = False
        forms = self._text(value), self._markup(value)
        if self._text.met_oddity:
            raise TypeError
        return self.known.keep(value, forms)
