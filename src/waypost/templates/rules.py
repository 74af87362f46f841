"""Pure decisions about templates and their content."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from waypost.kernel.errors import Conflict, FieldError, Refused, refuse
from waypost.kernel.locale_tag import less_exact, spell_locale
from waypost.kernel.vocabulary import Channel
from waypost.templates.model import (
    TRANSITIONS,
    Content,
    Format,
    JsonObject,
    LocaleSource,
    Sendable,
    TemplateKind,
    VersionState,
    Wording,
    Written,
)

LONGEST_NAME: Final = 200
MOST_LOCALES: Final = 60
MOST_SAMPLES: Final = 20
_KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")
_MARKUP: Final = frozenset({Format.HTML, Format.MJML, Format.MARKDOWN})
_MANY_SCRIPTS: Final = frozenset({"az", "ks", "ku", "pa", "sd", "sr", "ug", "uz", "zh"})
"""Who reads one script of these often cannot read the other."""


def read_key(text: str, pointer: str) -> str:
    if not _KEY.match(text):
        message = "A key has 1 to 100 lower-case letters, digits, `.`, `_` and `-`, and begins with a letter or digit."
        raise refuse(pointer, "invalid_key", message)
    return text


def read_name(text: str, pointer: str) -> str:
    if not 1 <= len(text) <= LONGEST_NAME or not text.strip() or not text.isprintable():
        raise refuse(pointer, "invalid_name", f"A name has 1 to {LONGEST_NAME} printable characters.")
    return text


def read_locale(text: str, pointer: str) -> str:
    spelled = spell_locale(text)
    if spelled is None:
        raise refuse(pointer, "invalid_locale", "Write a language tag such as `en`, `de-AT` or `zh-Hant-TW`.")
    return spelled


def choose_locale(
    available: Collection[str], *, recipient: str | None, chain: Sequence[str], tenant: str | None, default: str
) -> str:
    """The recipient's own locale or language; else the version's chain; else the tenant's; else the template's.

    `available` is not empty."""
    for wanted in (recipient, *chain, tenant, default):
        found = _nearest(available, wanted) if wanted else None
        if found is not None:
            return found
    return min(available)


def _nearest(available: Collection[str], wanted: str) -> str | None:
    """`de-AT` is served by `de-AT`, then `de`, then any other German: closer than another language."""
    for tag in less_exact(wanted):
        if tag in available:
            return tag
    language = wanted.partition("-")[0]
    if language in _MANY_SCRIPTS:
        return None
    return min((tag for tag in available if tag.partition("-")[0] == language), default=None)


def wording_for(version: Sendable, recipient: str | None) -> tuple[str | None, Wording]:
    """What someone reads, and in which locale. The content of a call is for everyone, so the locale stays theirs."""
    if version.template is None:
        return recipient, version.wordings[""]
    chosen = choose_locale(
        version.wordings,
        recipient=recipient,
        chain=version.fallback_chain,
        tenant=version.house.locale if version.house else None,
        default=version.template.default_locale,
    )
    return chosen, version.wordings[chosen]


def check_inline(content: Content, channel: Channel, pointer: str) -> None:
    """What can be told of the content of a call without compiling anything."""
    if content.html is None and content.text is None and content.json is None:
        raise refuse(pointer, "required", "Give `html`, `text` or both.")
    if channel is Channel.EMAIL and not content.subject.strip():
        raise refuse(f"{pointer}/subject", "required", "An email needs a subject.")
    if channel is not Channel.EMAIL and content.html is not None:
        raise refuse(f"{pointer}/html", "unknown_field", "Only an email has `html`.")
    if channel is Channel.EMAIL and content.json is not None:
        raise refuse(f"{pointer}/json", "unknown_field", "An email is written as html, mjml, markdown or text.")


def spell_locales(written: Mapping[str, LocaleSource], pointer: str) -> dict[str, LocaleSource]:
    """The same under the one spelling of each locale."""
    if not written:
        raise refuse(pointer, "required", "Write the content of at least one locale.")
    if len(written) > MOST_LOCALES:
        raise refuse(pointer, "too_many", f"A version has at most {MOST_LOCALES} locales.")
    spelled = {read_locale(tag, f"{pointer}/{_escaped(tag)}"): source for tag, source in written.items()}
    if len(spelled) != len(written):
        raise refuse(pointer, "duplicate_locale", "Two of these are the same locale in two spellings.")
    return spelled


def check_written(written: Written, *, channel: Channel, kind: TemplateKind, default_locale: str) -> None:
    """Refuses, naming every fault at once, what can be told without compiling anything."""
    errors = [
        *_check_chain(written),
        *_check_samples(written),
        *(error for tag, source in written.locales.items() for error in _check_source(tag, source, channel, kind)),
    ]
    if default_locale not in written.locales:
        message = "The template's default locale is not among these, so some people would get nothing."
        errors.append(FieldError(pointer="/locales", code="missing_default_locale", message=message))
    if errors:
        raise Refused("The version has fields that must be mended.", code=errors[0].code, errors=errors)


def _check_chain(written: Written) -> Iterator[FieldError]:
    seen: set[str] = set()
    for place, tag in enumerate(written.fallback_chain):
        pointer = f"/fallback_chain/{place}"
        if tag in seen:
            yield FieldError(pointer=pointer, code="fallback_loop", message="The chain comes back to this locale.")
        elif tag not in written.locales:
            yield FieldError(pointer=pointer, code="unknown_locale", message="The version has no such locale.")
        seen.add(tag)


def _check_samples(written: Written) -> Iterator[FieldError]:
    if len(written.samples) > MOST_SAMPLES:
        message = f"A version has at most {MOST_SAMPLES} samples."
        yield FieldError(pointer="/samples", code="too_many", message=message)
    for name in written.samples:
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            message = f"The name of a sample has 1 to {LONGEST_NAME} printable characters."
            yield FieldError(pointer="/samples", code="invalid_name", message=message)


def _check_source(tag: str, source: LocaleSource, channel: Channel, kind: TemplateKind) -> Iterator[FieldError]:
    pointer = f"/locales/{tag}"
    if not source.body.strip():
        yield FieldError(pointer=f"{pointer}/body", code="required", message="Write a body.")
    if kind is not TemplateKind.MESSAGE:
        for name in ("subject", "preheader", "text"):
            if getattr(source, name):
                message = "A layout or partial has a body only; this belongs to the message."
                yield FieldError(pointer=f"{pointer}/{name}", code="unknown_field", message=message)
        return
    if channel is Channel.EMAIL:
        if not source.subject.strip():
            yield FieldError(pointer=f"{pointer}/subject", code="required", message="An email needs a subject.")
        if source.format is Format.JSON:
            message = "An email is written as html, mjml, markdown or text."
            yield FieldError(pointer=f"{pointer}/format", code="wrong_format", message=message)
    elif source.format in (Format.HTML, Format.MJML):
        message = "Only an email has HTML: write markdown, text or json."
        yield FieldError(pointer=f"{pointer}/format", code="wrong_format", message=message)
    if source.text is not None and source.format not in _MARKUP:
        message = "Only beside HTML there is a text part of its own."
        yield FieldError(pointer=f"{pointer}/text", code="unknown_field", message=message)


def check_transition(now: VersionState, wanted: VersionState) -> None:
    if wanted not in TRANSITIONS[now]:
        raise Conflict(f"This version is {now.value} and cannot become {wanted.value}.", code="illegal_transition")


def write_only_names(schema: JsonObject | None) -> frozenset[str]:
    """The top-level variables that are never shown again (codes, reset links): `writeOnly` in the schema."""
    properties = schema.get("properties") if schema else None
    if not isinstance(properties, dict):
        return frozenset()
    return frozenset(
        name for name, about in properties.items() if isinstance(about, dict) and about.get("writeOnly") is True
    )


def refused_below(pointer: str, errors: Sequence[FieldError], *, detail: str, code: str) -> Refused:
    """The errors of one member of a request, pointed at from the request's root."""
    below = [FieldError(pointer=pointer + each.pointer, code=each.code, message=each.message) for each in errors]
    return Refused(detail, code=code, errors=below)


def _escaped(token: str) -> str:
    """One token of a JSON pointer, shortened: a caller's own word, but never a long one."""
    return token[:40].replace("~", "~0").replace("/", "~1")
