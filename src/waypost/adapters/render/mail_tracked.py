"""The markup of a message whose opens or clicks are noticed."""

from collections.abc import Callable
from typing import Final, Protocol

from waypost.adapters.render.dialect import MARKUP, Dialect
from waypost.adapters.render.engine import JinjaDialect
from waypost.adapters.render.link_scan import NO_TRACK
from waypost.adapters.render.link_slots import LinkSlots, Render
from waypost.adapters.render.mail_quoted import quoted
from waypost.templates.model import JsonObject
from waypost.templates.ports import Instrument


class Quotable(Protocol):
    plain: Callable[[JsonObject], str]

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
        self._slots = LinkSlots(instrument, source, _renderer(dialect))
        template = self._slots.template
        # A dialect has room for one template of a name.
        self._tracked = None if template is None else part(_another(dialect), MARKUP, template)

    def quoted(self, context: JsonObject) -> str:
        if self._tracked is not None:
            marked = self._slots.marks(context)
            if marked is not None:
                return self._tracked.quoted(marked)
        return quoted(self._slots.rewrite(self.plain(context), context))


def _renderer(dialect: Dialect) -> Render | None:
    """None where templates cannot be read well enough to find links in them."""
    if not isinstance(dialect, JinjaDialect):
        return None
    return lambda piece: _another(dialect).template(MARKUP, piece).render


def _another(dialect: Dialect) -> Dialect:
    return JinjaDialect(dialect.speech) if isinstance(dialect, JinjaDialect) else dialect
