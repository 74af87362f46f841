"""The values that a content prints, each once for text and once for markup, whatever form they then take."""

from itertools import chain
from typing import Final, Protocol

from waypost.adapters.render.mail_quoted import escaped, is_calm
from waypost.adapters.render.mail_slots import Path, split_paths, values_at
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
        self._paths = split_paths(paths)
        self._forms = forms

    def of(self, context: JsonObject) -> list[str] | None:
        """Two for each path; None where one is not plainly there, or of another kind."""
        found = values_at(self._paths, context, self._both)
        return None if found is None else list(chain.from_iterable(found))

    def _both(self, value: object) -> tuple[str, str]:
        return self._forms.known.get(value) or self._forms.of(value)


class PlainForms:
    """As the engine prints them."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known = KnownForms()

    def of(self, value: object) -> tuple[str, str]:
        if type(value) is int:
            form = str(value)
            return form, form
        if type(value) is not str:
            raise TypeError
        if is_calm(value):
            return value, value
        return self.known.keep(value, (value, escaped(value)))
