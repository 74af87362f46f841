"""What an author wrote, made into a content: once, when it is published, in a child that does nothing else.

layout and partials → MJML or markdown → style sheets → preheader, language, direction
"""

from dataclasses import dataclass, field
from typing import Final

from waypost.adapters.render import wire
from waypost.adapters.render.assemble import SLOT, Assembly, without_includes
from waypost.adapters.render.css_page import inline_css
from waypost.adapters.render.json_part import Marks
from waypost.adapters.render.limits import MAX_COMPILED_BYTES, MAX_DERIVED_BYTES
from waypost.adapters.render.mail_headers import refuse_breaks
from waypost.adapters.render.markdown_page import markdown_to_html
from waypost.adapters.render.markup_scan import Dress, MarkupScan
from waypost.adapters.render.mjml_page import mjml_to_html
from waypost.adapters.render.page import as_page, with_language, with_preheader
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import dialect_of
from waypost.adapters.render.source_scan import find_trouble
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.tag_slots import Slots
from waypost.templates.model import Content, Format, Fragment

_MARKUP: Final = frozenset({Format.HTML, Format.MJML, Format.MARKDOWN})


@dataclass(frozen=True, slots=True)
class Proof:
    content: Content | None
    faults: list[wire.Fault] = field(default_factory=list[wire.Fault])
    warnings: list[wire.Fault] = field(default_factory=list[wire.Fault])


def press(ask: wire.CompileAsk, speech: Speech) -> Proof:
    try:
        return _Press(ask, speech).run()
    except RenderRefused as refused:
        return Proof(None, [wire.Fault(refused.pointer, refused.code, refused.message)])


class _Press:
    def __init__(self, ask: wire.CompileAsk, speech: Speech) -> None:
        self._ask = ask
        self._source = ask.source
        self._speech = speech
        self._assembly = Assembly(ask.profile, ask.fragments)
        self._slots = Slots(ask.profile)

    def run(self) -> Proof:
        faults = self._look_at_sources()
        if faults:
            return Proof(None, faults)
        source, assembly = self._source, self._assembly
        body = assembly.expand(source.body, "/body")
        layouts = assembly.layouts(self._ask.layout, source.format)
        content = Content(
            subject=assembly.expand(source.subject, "/subject"),
            preheader=assembly.expand(source.preheader, "/preheader") if source.preheader else None,
            text=assembly.expand(source.text, "/text") if source.text is not None else None,
            profile=self._ask.profile,
            direction=source.direction,
            locale=source.locale,
        )
        self._refuse_broken_lines(content.subject)
        if source.format not in _MARKUP:
            return Proof(self._plain(content, body, layouts))
        html = self._markup(body, layouts, content.preheader)
        if len(html.encode()) > MAX_COMPILED_BYTES:
            words = f"The finished HTML is larger than {MAX_COMPILED_BYTES // 1024} KB."
            raise RenderRefused("too_large", words, "/body")
        if content.text is None and len(html) > MAX_DERIVED_BYTES:
            words = f"The finished HTML is larger than {MAX_DERIVED_BYTES // 1024} KB: give it a text part of its own."
            raise RenderRefused("too_large", words, "/text")
        return Proof(_with(content, html=html), warnings=_warnings(html))

    def _look_at_sources(self) -> list[wire.Fault]:
        """Each source alone, so that a fault is told in the author's own lines."""
        source, faults = self._source, list[wire.Fault]()
        written = {"subject": source.subject, "preheader": source.preheader, "body": source.body, "text": source.text}
        pointers = {name: f"/{name}" for name in written}
        for name, fragment in self._ask.fragments.items():
            written[f"fragment `{name}`"] = fragment.body
            pointers[f"fragment `{name}`"] = "/layout" if name == self._ask.layout else "/body"
        dialect = dialect_of(self._ask.profile, self._speech)
        for part, text in written.items():
            if not text:
                continue
            alone = without_includes(text)
            try:
                if trouble := find_trouble(alone, self._ask.profile):
                    raise RenderRefused("template_refused", f"The {part} {trouble}.")
                dialect.names(part, alone)
            except RenderRefused as refused:
                faults.append(wire.Fault(pointers[part], refused.code, refused.message))
        return faults

    def _plain(self, content: Content, body: str, layouts: list[Fragment]) -> Content:
        for layout in layouts:
            body = _filled(self._assembly.expand(layout.body, "/layout"), body)
        if self._source.format is Format.TEXT:
            return _with(content, text=body)
        self._refuse_broken_json(body)
        return _with(content, json=body)

    def _refuse_broken_lines(self, subject: str) -> None:
        try:
            refuse_breaks("Subject", self._slots.hide(subject))
        except RenderRefused as refused:
            raise RenderRefused(refused.code, "The subject must be one line.", "/subject") from None

    def _refuse_broken_json(self, body: str) -> None:
        """With a word for each value; where tags steer what is there, only a rendered message can tell."""
        hidden, marks = self._slots.hide(body), Marks()
        if not self._slots.steering(hidden):
            try:
                marks.resolve(self._slots.word.sub(lambda _: marks.mark("word"), hidden))
            except RenderRefused as refused:
                raise RenderRefused(refused.code, "The body is not JSON.", "/body") from None

    def _markup(self, body: str, layouts: list[Fragment], preheader: str | None) -> str:
        source, slots = self._source, self._slots
        html, format_ = slots.hide(body), source.format
        pointer = "/body"
        for layout in layouts:
            if format_ is Format.MARKDOWN and layout.format is not Format.MARKDOWN:
                html, format_ = markdown_to_html(html, slots, pointer), Format.HTML
            inner, outer = html, SLOT.split(self._assembly.expand(layout.body, "/layout"))
            html = inner.join(slots.hide(piece) for piece in outer)
            format_, pointer = layout.format, "/layout"
        if format_ is Format.MARKDOWN:
            html = as_page(markdown_to_html(html, slots, pointer))
        elif format_ is Format.MJML:
            html = mjml_to_html(html, slots, locale=source.locale, direction=source.direction, pointer=pointer)
        MarkupScan(slots, Dress(), "/body").run(html)
        html = with_language(inline_css(html, slots, "/body"), source.locale, source.direction)
        return slots.finish(with_preheader(html, preheader, slots))


def _filled(layout: str, body: str) -> str:
    return body.join(SLOT.split(layout))


def _with(content: Content, *, html: str | None = None, text: str | None = None, json: str | None = None) -> Content:
    return Content(
        subject=content.subject,
        html=html,
        text=content.text if text is None else text,
        json=json,
        preheader=content.preheader,
        profile=content.profile,
        direction=content.direction,
        locale=content.locale,
    )


def _warnings(html: str) -> list[wire.Fault]:
    lowered = html.lower()
    if "<script" in lowered:
        return [wire.Fault("/body", "script", "Mail programs leave scripts out.")]
    return []
