"""One version's content inside the render process, compiled in an environment that nothing else shares."""

from functools import cached_property
from typing import Final

import minijinja

from waypost.adapters.render.engine import RenderRefused, make_environment, refusal_of
from waypost.adapters.render.html_text import html_to_text
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.mail_compose import CompiledMail, compile_mail
from waypost.adapters.render.mail_headers import refuse_breaks
from waypost.adapters.render.source_scan import find_trouble
from waypost.adapters.render.wire import Parts, Rendered
from waypost.templates.model import Content, JsonObject
from waypost.templates.ports import MailHead

PARTS: Final = ("subject", "html", "text")
# Quoted-printable triples what is not ASCII.
_ENCODING_GROWTH: Final = 4


class Rendition:
    def __init__(self, content: Parts, limits: RenderLimits) -> None:
        self._sources = {part: source for part in PARTS if (source := getattr(content, part)) is not None}
        self._content = content
        self._limits = limits

    def render(self, context: JsonObject) -> Rendered:
        subject = self._part("subject", context)
        try:
            refuse_breaks("Subject", subject)
        except RenderRefused as refused:
            raise RenderRefused(refused.code, refused.message, "/subject") from None
        html = self._part("html", context) if "html" in self._sources else None
        text = self._part("text", context) if "text" in self._sources else html_to_text(html or "")
        if len(subject) + len(html or "") + len(text) > self._limits.message_bytes:
            raise too_large()
        return Rendered(subject, html, text)

    def compose(self, context: JsonObject, head: MailHead) -> bytes:
        message = self._mail.compose(context, head)
        if len(message) > self._limits.message_bytes * _ENCODING_GROWTH:
            raise too_large()
        return message

    @cached_property
    def _environment(self) -> minijinja.Environment:
        environment = make_environment()
        for part, source in self._sources.items():
            refuse_trouble(part, source)
            try:
                environment.add_template(part, source)
            except minijinja.TemplateError as error:
                raise refusal_of(error, part=part, source=source, context={}) from None
        return environment

    @cached_property
    def _mail(self) -> CompiledMail:
        for part, source in self._sources.items():
            refuse_trouble(part, source)
        return compile_mail(make_environment(), content_of(self._content))

    def _part(self, part: str, context: JsonObject) -> str:
        environment = self._environment
        try:
            return environment.render_template(part, **context)
        except minijinja.TemplateError as error:
            raise refusal_of(error, part=part, source=self._sources[part], context=context) from None


def content_of(parts: Parts) -> Content:
    return Content(subject=parts.subject, html=parts.html, text=parts.text)


def refuse_trouble(part: str, source: str) -> None:
    if trouble := find_trouble(source):
        raise RenderRefused("template_refused", f"The {part} {trouble}.", f"/{part}")


def too_large() -> RenderRefused:
    return RenderRefused("render_too_large", "The rendered message is larger than 2 MB.")
