"""The finished message of RFC 5322 and MIME. Runs inside the render process: no I/O, and no large imports.

A message that carries files ends open, after its own words: see `channels.mime_parts`.
"""

from typing import Final

import minijinja

from waypost.adapters.render.dialect import MARKUP, Dialect
from waypost.adapters.render.engine import RENDER_ERRORS, JinjaDialect, make_environment
from waypost.adapters.render.html_text import html_to_text
from waypost.adapters.render.mail_derived import CalmQuoter, derived_text
from waypost.adapters.render.mail_head import HeadLines
from waypost.adapters.render.mail_quoted import SOFT_BREAK, WEB_ADDRESS_FILTER, ValueQuoter, quoted, quoted_template
from waypost.adapters.render.mail_skeleton import MailSkeleton
from waypost.adapters.render.mail_slots import SlottedTemplate
from waypost.adapters.render.mail_subject import SubjectLine
from waypost.adapters.render.mail_tracked import Quotable, markup_part
from waypost.adapters.render.recipes import MailRecipe, Path
from waypost.adapters.render.skeleton import BETWEEN, LARGEST, Frame
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.wire import Parts
from waypost.channels.mime_parts import ALTERNATIVE, MIXED, RELATED
from waypost.templates.model import JsonObject
from waypost.templates.ports import Instrument, MailHead

_OF_TEXT: Final = 'Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n'
_OF_HTML: Final = 'Content-Type: text/html; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n'
_OF_BOTH: Final = f'Content-Type: multipart/alternative; boundary="{ALTERNATIVE}"\r\n\r\n--{ALTERNATIVE}\r\n'
_OF_SHOWN: Final = (
    f'Content-Type: multipart/related; type="text/html";\r\n boundary="{RELATED}"\r\n\r\n--{RELATED}\r\n{_OF_HTML}'
)
_OF_FILES: Final = f'Content-Type: multipart/mixed; boundary="{MIXED}"\r\n\r\n--{MIXED}\r\n'
_VERSION: Final = "MIME-Version: 1.0\r\n"
_BEFORE_TEXT: Final = {False: f"{_VERSION}{_OF_BOTH}{_OF_TEXT}", True: f"{_VERSION}{_OF_FILES}{_OF_BOTH}{_OF_TEXT}"}
_BEFORE_TEXT_ALONE: Final = {False: f"{_VERSION}{_OF_TEXT}", True: f"{_VERSION}{_OF_FILES}{_OF_TEXT}"}
"""By whether files follow."""
_BEFORE_HTML: Final = {
    False: f"\r\n--{ALTERNATIVE}\r\n{_OF_HTML}",
    True: f"\r\n--{ALTERNATIVE}\r\n{_OF_SHOWN}",
}
"""By whether images follow."""
_AFTER_HTML: Final = f"\r\n--{ALTERNATIVE}--\r\n"


class _Part:
    """One template, rendered as it is or straight to quoted-printable."""

    def __init__(self, dialect: Dialect, name: str, source: str) -> None:
        self.plain = dialect.template(name, source).render
        self._quoter = ValueQuoter(markup=name == MARKUP)
        speech = dialect.speech if isinstance(dialect, JinjaDialect) else None
        self.slots = SlottedTemplate.of(source) if speech else None
        self._fast = _quoted_environment(source, self._quoter, speech) if speech and not self.slots else None

    @property
    def words(self) -> list[Path] | None:
        return []

    def marked(self, context: JsonObject) -> JsonObject | None:
        return context

    def quoted(self, context: JsonObject) -> str:
        if self.slots is not None:
            body = self.slots.fill(context, self._quoter)
        else:
            body = _render_quoted(self._fast, self._quoter, context)
        return quoted(self.plain(context)) if body is None else body


class _DerivedText:
    """The text part of content that has only markup."""

    slots = None

    def __init__(self, dialect: Dialect, html: Quotable, markup: str) -> None:
        self._html = html
        self._quoter = CalmQuoter()
        speech = dialect.speech if isinstance(dialect, JinjaDialect) else None
        source = derived_text(markup) if speech else None
        # The source's last line end is the text's own: one more is added for the engine's rules to take away.
        self._fast = None if source is None else _quoted_environment(source + "\n", self._quoter, speech)
        if self._fast is not None:
            self._fast.add_filter(WEB_ADDRESS_FILTER, self._quoter.web_address)

    def quoted(self, context: JsonObject) -> str:
        body = _render_quoted(self._fast, self._quoter, context)
        return quoted(html_to_text(self._html.plain(context))) if body is None else body


class CompiledMail:
    def __init__(self, dialect: Dialect, content: Parts, instrument: Instrument | None = None) -> None:
        self._subject = SubjectLine(dialect, content.subject)
        self._head = HeadLines()
        self._html = None if content.html is None else markup_part(dialect, content.html, instrument, _Part)
        if content.text is not None or self._html is None:
            self._text = _Part(dialect, "text", content.text or "")
        else:
            self._text = _DerivedText(dialect, self._html, content.html or "")

        self.skeleton = self._skeleton()
        """Of messages without files; None where a part does more than print values."""
        self._frame = None if self.skeleton is None else Frame(self.skeleton.shown)
        self.recipe = None if self.skeleton is None else self._recipe(self.skeleton)
        """By which messages of the skeleton are made without us; None where that takes more than looking values up."""

    def _skeleton(self) -> MailSkeleton | None:
        text = self._text.slots
        if text is None:
            return None
        if self._html is None:
            end = "" if text.literals[-1].removesuffix(SOFT_BREAK).endswith("\n") else "\r\n"
            return MailSkeleton([_BEFORE_TEXT_ALONE[False], end], [(text, False)])
        html = self._html.slots
        if html is None:
            return None
        return MailSkeleton([_BEFORE_TEXT[False], _BEFORE_HTML[False], _AFTER_HTML], [(text, False), (html, True)])

    def _recipe(self, skeleton: MailSkeleton) -> MailRecipe | None:
        subject, words = self._subject.slots, [] if self._html is None else self._html.words
        if subject is None or words is None:
            return None
        return MailRecipe(subject.shown, skeleton.printed, skeleton.ends, words)

    def say(self, context: JsonObject, head: MailHead) -> bytes | None:
        """What the skeleton is filled with; None where the message must be made whole. Raises `RenderRefused`."""
        skeleton, frame = self.skeleton, self._frame
        if skeleton is None or frame is None or head.has_files or head.has_images:
            return None
        marked = context if self._html is None else self._html.marked(context)
        values = None if marked is None else skeleton.values(marked)
        if values is None:
            return None
        said = BETWEEN.join((self._head.of(head, self._subject.of(context)), *values)).encode()
        return None if frame.most_bytes(len(said)) > LARGEST else said

    def compose(self, context: JsonObject, head: MailHead) -> bytes:
        """The whole message, or all of it before its files: CRLF, no line begins with a dot, ASCII but for addresses
        that are not. Raises `RenderRefused`."""
        said = self.say(context, head)
        return self.whole(context, head) if said is None or self._frame is None else self._frame.filled(said)

    def whole(self, context: JsonObject, head: MailHead) -> bytes:
        """The same, made part by part."""
        start = self._head.of(head, self._subject.of(context))
        text = self._text.quoted(context).removesuffix(SOFT_BREAK)
        if self._html is None:
            end = "" if text.endswith("\n") and not head.has_files else "\r\n"
            return f"{start}{_BEFORE_TEXT_ALONE[head.has_files]}{text}{end}".encode()
        html = self._html.quoted(context).removesuffix(SOFT_BREAK)
        before_text, before_html = _BEFORE_TEXT[head.has_files], _BEFORE_HTML[head.has_images]
        end = "\r\n" if head.has_files or head.has_images else _AFTER_HTML
        return f"{start}{before_text}{text}{before_html}{html}{end}".encode()


def compile_mail(dialect: Dialect, content: Parts, instrument: Instrument | None = None) -> CompiledMail:
    """Compiles once what is rendered for many. Raises `RenderRefused` on a syntax error."""
    return CompiledMail(dialect, content, instrument)


def _quoted_environment(source: str, quoter: ValueQuoter, speech: Speech | None) -> minijinja.Environment | None:
    template = quoted_template(source)
    if template is None:
        return None
    environment = make_environment(speech)
    environment.keep_trailing_newline = True
    environment.finalizer = quoter
    try:
        environment.add_template("quoted", template)
    except minijinja.TemplateError:
        return None
    return environment


def _render_quoted(environment: minijinja.Environment | None, quoter: ValueQuoter, context: JsonObject) -> str | None:
    """None where the plain way must be taken; also after an error, so that it is told in the author's own terms."""
    if environment is None:
        return None
    quoter.met_oddity = False
    try:
        body = environment.render_template("quoted", **context)
    except RENDER_ERRORS:
        return None
    return None if quoter.met_oddity else body
