"""One version's content inside the render process, compiled in an environment that nothing else shares."""

from functools import cached_property
from typing import Final

from waypost.adapters.render.dialect import Dialect, PartTemplate
from waypost.adapters.render.engine import JinjaDialect
from waypost.adapters.render.equipment import Equipment, needed
from waypost.adapters.render.html_text import html_to_text
from waypost.adapters.render.limits import MAX_COMPILED_BYTES, RenderLimits
from waypost.adapters.render.mail_compose import CompiledMail, compile_mail
from waypost.adapters.render.mail_headers import refuse_breaks
from waypost.adapters.render.part_sheet import PartSheet
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.source_scan import find_trouble
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.wire import PARTS, Parts, Said, Told
from waypost.templates.model import JsonObject, Profile
from waypost.templates.ports import Instrument, MailHead, RenderedParts

# Quoted-printable triples what is not ASCII.
_ENCODING_GROWTH: Final = 4


class Rendition:
    def __init__(
        self,
        content: Parts,
        limits: RenderLimits,
        speech: Speech | None = None,
        instrument: Instrument | None = None,
    ) -> None:
        self._sources = sources_of(content)
        self._content = content
        self._limits = limits
        self._speech = speech or Speech()
        self._instrument = instrument
        self._has_said = False
        self._has_told = False

    def tell(self, context: JsonObject, locale: str | None, timezone: str | None) -> Told | RenderedParts:
        """What differs between the parts of one message and another, or all of them where they have no sheet."""
        sheet = self._sheet
        values = None if sheet is None else sheet.values(context)
        if values is None or sheet is None:
            return self.render(context, locale, timezone)
        self._speech.turn_to(locale, timezone, self._content.locale)
        subject = self._subject(context)
        if self._has_told:
            return Told(subject, values)
        self._has_told = True
        return Told(subject, values, sheet.shown, sheet.recipe)

    def render(self, context: JsonObject, locale: str | None = None, timezone: str | None = None) -> RenderedParts:
        self._speech.turn_to(locale, timezone, self._content.locale)
        templates = self._templates
        subject = self._subject(context)
        html = templates["html"].render(context) if "html" in templates else None
        text = templates["text"].render(context) if "text" in templates else html_to_text(html or "")
        json = templates["json"].render(context) if "json" in templates else None
        preheader = templates["preheader"].render(context) if "preheader" in templates else None
        parts = RenderedParts(subject=subject, html=html, text=text, json=json, preheader=preheader)
        if size_of(parts) > self._limits.message_bytes:
            raise too_large()
        return parts

    def compose(self, context: JsonObject, locale: str | None, timezone: str | None, head: MailHead) -> bytes:
        self._speech.turn_to(locale, timezone, self._content.locale)
        return self._measured(self._mail.compose(context, head))

    def say(self, context: JsonObject, locale: str | None, timezone: str | None, head: MailHead) -> Said | bytes:
        """What is said in the message, or all of it where it has no skeleton."""
        self._speech.turn_to(locale, timezone, self._content.locale)
        said = self._mail.say(context, head)
        if said is None or self._mail.skeleton is None:
            return self._measured(self._mail.whole(context, head))
        if self._has_said:
            return Said(said)
        self._has_said = True
        return Said(said, self._mail.skeleton.shown, self._mail.recipe)

    def _subject(self, context: JsonObject) -> str:
        subject = self._templates["subject"].render(context)
        try:
            refuse_breaks("Subject", subject)
        except RenderRefused as refused:
            raise RenderRefused(refused.code, refused.message, "/subject") from None
        return subject

    def _measured(self, message: bytes) -> bytes:
        if len(message) > self._limits.message_bytes * _ENCODING_GROWTH:
            raise too_large()
        return message

    @cached_property
    def _templates(self) -> dict[str, PartTemplate]:
        self._refuse_trouble()
        dialect = dialect_of(self._content.profile, self._speech)
        return {part: dialect.template(part, source) for part, source in self._sources.items()}

    @cached_property
    def _sheet(self) -> PartSheet | None:
        if self._content.profile is not Profile.JINJA:
            return None
        return PartSheet.of(self._sources, self._limits.message_bytes)

    @cached_property
    def _mail(self) -> CompiledMail:
        self._refuse_trouble()
        return compile_mail(dialect_of(self._content.profile, self._speech), self._content, self._instrument)

    def _refuse_trouble(self) -> None:
        for part, source in self._sources.items():
            refuse_trouble(part, source, self._content.profile, MAX_COMPILED_BYTES)


def size_of(parts: RenderedParts) -> int:
    size = len(parts.subject) + len(parts.text)
    for part in (parts.html, parts.json, parts.preheader):
        if part is not None:
            size += len(part)
    return size


def sources_of(content: Parts) -> dict[str, str]:
    return {part: source for part in PARTS if (source := getattr(content, part)) is not None}


def dialect_of(profile: Profile, speech: Speech) -> Dialect:
    if profile is Profile.JINJA:
        return JinjaDialect(speech)
    return needed(Equipment.LIQUID, speech.library.read).LiquidDialect(speech)


def refuse_trouble(part: str, source: str, profile: Profile, most_bytes: int) -> None:
    if trouble := find_trouble(source, profile, most_bytes):
        raise RenderRefused("template_refused", f"The {part} {trouble}.", f"/{part}")


def too_large() -> RenderRefused:
    return RenderRefused("render_too_large", "The rendered message is larger than 2 MB.")
