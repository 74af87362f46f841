"""What an author should mend before people see it. Pure, and linear in the length of what it reads: the words are
somebody's, so they are looked over by patterns and never parsed here.

Errors keep a version from being published; warnings are told and may be ignored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from waypost.kernel.vocabulary import Category, Channel
from waypost.templates.compiling import Compiled
from waypost.templates.lint_markup import broken_links, has_words, images_without_alt, links, words_of
from waypost.templates.model import JsonObject, LocaleSource, Template, TemplateKind, Written
from waypost.templates.spam_marks import body_spam_marks, spam_marks

CLIPPED_BYTES: Final = 102 * 1024
"""What is larger, a large mailbox provider cuts off, and the way to unsubscribe with it."""
LONGEST_SUBJECT: Final = 78
OPT_OUT_NAMES: Final = frozenset({"unsubscribe_url", "preferences_url"})
"""The names under which sending offers the recipient's own way out."""
_OPT_OUT_WORDS: Final = ("unsubscribe", "opt-out", "optout", "preferences", "abmelden", "desabonn", "cancelar")
_SPACES: Final = frozenset({"recipient", "tenant"})


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    level: Level
    pointer: str
    code: str
    message: str


def lint(template: Template, written: Written, compiled: Mapping[str, Compiled]) -> list[Finding]:
    """`compiled` has what each locale became."""
    found = [
        _warning(fault.pointer, fault.code, fault.message) for each in compiled.values() for fault in each.warnings
    ]
    if template.kind is TemplateKind.MESSAGE:
        found += _variables(written, compiled)
    for locale, each in sorted(compiled.items()):
        found += _locale(template, locale, written.locales[locale], each)
    return found


def _locale(template: Template, locale: str, source: LocaleSource, compiled: Compiled) -> Iterator[Finding]:
    at, html = f"/locales/{locale}", compiled.content.html
    if template.kind is TemplateKind.MESSAGE and template.channel is Channel.EMAIL:
        yield from _subject(at, source)
        words = words_of(html) if html is not None else (compiled.content.text or "").split()
        for mark in body_spam_marks(words):
            yield _warning(f"{at}/body", "spam_mark", mark)
        if template.category is Category.MARKETING and not _offers_way_out(source, compiled):
            message = "Marketing needs a way out: link to `{{ unsubscribe_url }}` or `{{ preferences_url }}`."
            yield Finding(level=Level.ERROR, pointer=f"{at}/body", code="missing_unsubscribe", message=message)
    if html is None:
        return
    for fault in broken_links(html):
        level = Level.WARNING if fault.is_doubtful else Level.ERROR
        yield Finding(level=level, pointer=f"{at}/body", code=fault.code, message=fault.message)
    if template.kind is not TemplateKind.MESSAGE:
        return
    size = len(html.encode())
    if size > CLIPPED_BYTES:
        message = f"Is {size // 1024} KB before a variable is filled in; above 102 KB mail programs cut it off."
        yield _warning(f"{at}/body", "over_102_kb", message)
    if missing := images_without_alt(html):
        message = f"{missing} of its pictures say nothing to who cannot see them: give each an `alt`."
        yield _warning(f"{at}/body", "missing_alt", message)
    if source.text is None and not has_words(html):
        message = "Has no words of its own, so nothing is left for a text part: write `text`."
        yield _warning(f"{at}/body", "missing_text", message)


def _subject(at: str, source: LocaleSource) -> Iterator[Finding]:
    if len(source.subject) > LONGEST_SUBJECT:
        message = f"Is longer than {LONGEST_SUBJECT} characters; most people see half of that."
        yield _warning(f"{at}/subject", "long_subject", message)
    for mark in spam_marks(source.subject):
        yield _warning(f"{at}/subject", "spam_mark", mark)


def _offers_way_out(source: LocaleSource, compiled: Compiled) -> bool:
    if OPT_OUT_NAMES & compiled.mentioned:
        return True
    targets = " ".join(links(compiled.content.html or "")).lower()
    return any(word in targets for word in _OPT_OUT_WORDS) or any(name in source.body for name in OPT_OUT_NAMES)


def _variables(written: Written, compiled: Mapping[str, Compiled]) -> Iterator[Finding]:
    """Against the schema, where there is one that names variables."""
    properties = _properties(written.variables_schema)
    if properties is None:
        return
    used: set[str] = set()
    for locale, each in sorted(compiled.items()):
        used |= each.mentioned
        for name in sorted(each.mentioned):
            if name not in properties and name not in OPT_OUT_NAMES and name.partition(".")[0] not in _SPACES:
                message = f"Reads `{name}`, which the schema does not name: is it an attribute of the recipient?"
                yield _warning(f"/locales/{locale}", "undefined_variable", message)
    for name in sorted(properties.keys() - used):
        message = f"`{name}` is in the schema and nowhere in the content."
        yield _warning("/variables_schema", "unused_variable", message)


def _properties(schema: JsonObject | None) -> JsonObject | None:
    properties = schema.get("properties") if schema else None
    return properties if isinstance(properties, dict) else None


def _warning(pointer: str, code: str, message: str) -> Finding:
    return Finding(level=Level.WARNING, pointer=pointer, code=code, message=message)
