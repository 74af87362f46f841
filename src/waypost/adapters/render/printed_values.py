"""The values that a content prints, each once for text and once for markup, whatever form they then take."""

from typing import Final, Protocol

from waypost.adapters.render.mail_quoted import escaped, is_calm
from waypost.adapters.render.mail_slots import is_within_reach, looking_up
from waypost.adapters.render.recipes import Path
from waypost.templates.model import JsonObject

_LONGEST_KNOWN: Final = 60
_MOST_KNOWN: Final = 500


class Forms(Protocol):
    """A value for text and for markup, which mostly are the same."""

    @property
    def known(self) -> "KnownForms": ...

    def of(self, value: object) -> tuple[str, str]:
        """Raises `TypeError` where only the engine knows how to print it."""
        ...


class KnownForms(dict[object, tuple[str, str]]):
    """What was formed lately: names and places come again and again."""

    def keep(self, value: str, forms: tuple[str, str]) -> tuple[str, str]:
        if len(value) <= _LONGEST_KNOWN:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[value] = forms
        return forms


class PrintedValues:
    def __init__(self, paths: list[Path], forms: Forms) -> None:
        self._values_in = looking_up(paths)
        self._forms = forms

    def of(self, context: JsonObject) -> list[str] | None:
        """Two for each path; None where one is not plainly there, or of another kind."""
        known, form = self._forms.known.get, self._forms.of
        said = list[str]()
        try:
            for value in self._values_in(context):
                said += known(value) or form(value)
        except (KeyError, TypeError):
            return None
        return said


class PlainForms:
    """As the engine prints them."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known = KnownForms()

    def of(self, value: object) -> tuple[str, str]:
        if type(value) is int and is_within_reach(value):
            form = str(value)
            return form, form
        if type(value) is not str:
            raise TypeError
        if is_calm(value):
            return value, value
        value.encode()  # raises where no message can hold it
        return self.known.keep(value, (value, escaped(value)))
