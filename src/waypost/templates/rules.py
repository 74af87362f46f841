"""Pure decisions about templates and their content."""

import re
from collections.abc import Sequence
from typing import Final

from waypost.kernel.errors import Conflict, FieldError, Refused, refuse
from waypost.kernel.vocabulary import Channel
from waypost.templates.model import TRANSITIONS, Content, JsonObject, VersionState

LONGEST_NAME: Final = 200
_KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")


def read_key(text: str, pointer: str) -> str:
    if not _KEY.match(text):
        message = "A key has 1 to 100 lower-case letters, digits, `.`, `_` and `-`, and begins with a letter or digit."
        raise refuse(pointer, "invalid_key", message)
    return text


def read_name(text: str, pointer: str) -> str:
    if not 1 <= len(text) <= LONGEST_NAME or not text.strip() or not text.isprintable():
        raise refuse(pointer, "invalid_name", f"A name has 1 to {LONGEST_NAME} printable characters.")
    return text


def check_shape(content: Content, channel: Channel, pointer: str) -> None:
    """What can be told without compiling anything."""
    if content.html is None and content.text is None:
        raise refuse(pointer, "required", "Give `html`, `text` or both.")
    if channel is Channel.EMAIL and not content.subject.strip():
        raise refuse(f"{pointer}/subject", "required", "An email needs a subject.")
    if channel is not Channel.EMAIL and content.html is not None:
        raise refuse(f"{pointer}/html", "unknown_field", "Only an email has `html`.")


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
