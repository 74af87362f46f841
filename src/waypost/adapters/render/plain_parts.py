"""Parts of a content that does nothing but print values, made without asking a child: see `plain_mail`."""

from typing import Final, Literal

from waypost.adapters.render.mail_headers import refuse_breaks
from waypost.adapters.render.mail_slots import is_within_reach, looking_up
from waypost.adapters.render.plain_mail import slotted
from waypost.adapters.render.printed_values import PlainForms, PrintedValues
from waypost.adapters.render.recipes import PartsRecipe
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.sheet import FillableSheet
from waypost.adapters.render.skeleton import Untrue
from waypost.templates.ports import RenderedParts, RenderJob

_GROWTH: Final = 6
"""Of a character that is escaped."""
_LONGEST_NUMBER: Final = 20


class PlainParts:
    def __init__(self, sheet: FillableSheet, recipe: PartsRecipe, most: int) -> None:
        """Raises `Untrue`. `most` is how large all parts together may be."""
        if sheet.values != 2 * len(recipe.printed):
            raise Untrue
        self._sheet = sheet
        self._subject = slotted(recipe.subject)
        self._values = PrintedValues(recipe.printed, PlainForms())
        self._values_in = looking_up(list(dict.fromkeys((*recipe.printed, *recipe.subject.printed))))
        self._subject_places = len(recipe.subject.printed)
        self._subject_size = sum(map(len, recipe.subject.literals))
        self._most = most
        self.size = sheet.literal_size

    def made(self, job: RenderJob) -> RenderedParts | None:
        told = self._told(job)
        return None if told is None else self._sheet.filled(*told)

    def will_do(self, job: RenderJob) -> Literal[True] | None:
        """The same question without the answer. Plain values need not be put into their forms for that."""
        size = 0
        try:
            for value in self._values_in(job.context):
                if type(value) is str and value.isprintable():
                    size += len(value)
                elif type(value) is int and is_within_reach(value):
                    size += _LONGEST_NUMBER
                else:
                    return None if self._told(job) is None else True
        except (KeyError, TypeError):
            return None
        most = self._sheet.most_of(_GROWTH * size) + self._subject_size + size * self._subject_places
        return True if most <= self._most else None

    def _told(self, job: RenderJob) -> tuple[str, list[str]] | None:
        try:
            subject, values = self._subject.fill_plain(job.context), self._values.of(job.context)
            if subject is None or values is None or len(subject) + self._sheet.most(values) > self._most:
                return None
            refuse_breaks("Subject", subject)
        except (RenderRefused, UnicodeEncodeError):
            return None
        return subject, values
