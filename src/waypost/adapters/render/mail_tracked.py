"""The markup of a message whose opens or clicks are noticed."""

from collections.abc import Callable
from functools import cached_property
from typing import Final, Protocol

from waypost.adapters.render.dialect import MARKUP, Dialect
from waypost.adapters.render.engine import JinjaDialect
from waypost.adapters.render.link_scan import NO_TRACK
from waypost.adapters.render.link_slots import LinkSlots, Render
from waypost.adapters.render.mail_quoted import quoted
from waypost.adapters.render.mail_slots import SlottedTemplate
from waypost.adapters.render.recipes import Path
from waypost.templates.model import JsonObject
from waypost.templates.ports import Instrument


class Quotable(Protocol):
    plain: Callable[[JsonObject], str]

    @property
    def slots(self) -> SlottedTemplate | None:
        """Where it does nothing but print values of the context that `marked` gives."""
        ...

    @property
    def words(self) -> list[Path] | None:
        """The values of which `marked` makes words of links; None where it does more."""
        ...

    def marked(self, context: JsonObject) -> JsonObject | None:
        """None where this message is not of `slots`."""
        ...

    def quoted(self, context: JsonObject) -> str: ...


MakePart = Callable[[Dialect, str, str], Quotable]

_NOTHING: Final = Instrument(opens="", clicks="", version=b"", key=b"", spared=())


def markup_part(dialect: Dialect, source: str, instrument: Instrument | None, part: MakePart) -> Quotable:
    """What an author says to us alone (`data-no-track`) never goes out, tracked or not."""
    if instrument is None and NO_TRACK not in source.lower():
        return part(dialect, MARKUP, source)
    return TrackedPart(dialect, source, instrument or _NOTHING, part)


class TrackedPart:
    """`plain` is the markup as its author wrote it: the text part is made of that."""

    def __init__(self, dialect: Dialect, source: str, instrument: Instrument, part: MakePart) -> None:
        self.plain = part(dialect, MARKUP, source).plain
        self._links = LinkSlots(instrument, source, _renderer(dialect))
        self._dialect = dialect
        self._part = part

    @cached_property
    def _tracked(self) -> Quotable | None:
        return self._made(self._links.template)

    @cached_property
    def _worded(self) -> Quotable | None:
        return self._made(self._links.worded)

    def _made(self, template: str | None) -> Quotable | None:
        # A dialect has room for one template of a name.
        return None if template is None else self._part(_another(self._dialect), MARKUP, template)

    @property
    def slots(self) -> SlottedTemplate | None:
        usual = self._worded or self._tracked
        return None if usual is None else usual.slots

    @property
    def words(self) -> list[Path] | None:
        return self._links.usual_words

    def marked(self, context: JsonObject) -> JsonObject | None:
        return self._links.marks(context) if self._worded is None else self._links.words(context)

    def quoted(self, context: JsonObject) -> str:
        marked, tracked = self._links.words(context), self._worded
        if marked is None:
            marked, tracked = self._links.marks(context), self._tracked
        if marked is not None and tracked is not None:
            return tracked.quoted(marked)
        return quoted(self._links.rewrite(self.plain(context), context))


def _renderer(dialect: Dialect) -> Render | None:
    """None where templates cannot be read well enough to find links in them."""
    if not isinstance(dialect, JinjaDialect):
        return None
    return lambda piece: _another(dialect).template(MARKUP, piece).render


def _another(dialect: Dialect) -> Dialect:
    return JinjaDialect(dialect.speech) if isinstance(dialect, JinjaDialect) else dialect
