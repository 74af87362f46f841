"""The filters that speak the recipient's language: one speaker per child, turned to each recipient in turn.

The words themselves (`wording`) are a library that a child may not have loaded; it then asks to be replaced.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from waypost.adapters.render.equipment import Equipment, needed
from waypost.adapters.render.resources import Library, OpenLibrary

FILTERS: Final = ("date", "time", "datetime", "relative", "money", "number", "percent", "plural", "listed")
"""Known to both template languages."""


class Unsuitable(Exception):
    """A filter was given what it cannot say. Its text ends a sentence on the part, and repeats no value."""

    def __init__(self, text: str, *, is_missing: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.is_missing = is_missing


class Speech:
    def __init__(self, library: Library | None = None) -> None:
        self.library = library or OpenLibrary()
        self._recipients: tuple[str | None, str | None] = (None, None)
        self._written_in: str | None = None

    def turn_to(self, locale: str | None, timezone: str | None, written_in: str | None) -> None:
        """For whom the next content is rendered, and in which language it was written."""
        self._recipients = (locale, timezone)
        self._written_in = written_in

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {name: partial(self._say, name) for name in FILTERS}

    def _say(self, name: str, value: object, *words: object, **named: object) -> object:
        wording = needed(Equipment.WORDING, self.library.read)
        return wording.say(self.library, self._recipients, self._written_in, name, value, words, named)
