"""The subject of a content's messages: filled without the engine where it does nothing but print values."""

from waypost.adapters.render.dialect import Dialect
from waypost.adapters.render.engine import JinjaDialect
from waypost.adapters.render.mail_head import subject_line
from waypost.adapters.render.mail_slots import SlottedTemplate
from waypost.templates.model import JsonObject


class SubjectLine:
    def __init__(self, dialect: Dialect, source: str) -> None:
        self._render = dialect.template("subject", source).render
        self.slots = SlottedTemplate.as_it_is(source) if isinstance(dialect, JinjaDialect) else None

    def of(self, context: JsonObject) -> str:
        """Raises `RenderRefused`."""
        subject = self.slots.fill_plain(context) if self.slots is not None else None
        return subject_line(self._render(context) if subject is None else subject)
