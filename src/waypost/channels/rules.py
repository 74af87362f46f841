"""Pure rules of email: the id of a message, and which headers a caller may add."""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from waypost.kernel.errors import FieldError
from waypost.kernel.ids import show_ulid

MOST_HEADERS: Final = 30
LONGEST_HEADER_NAME: Final = 76
LONGEST_HEADER_VALUE: Final = 2_000
LONGEST_HEADER_WORD: Final = 900
"""A line of a message holds at most 998 characters, and lines break only between words."""

# What Waypost writes itself, what only the way of a message may write, and what would change who gets it.
_RESERVED: Final = frozenset(
    {
        "apparently-to",
        "authentication-results",
        "auto-submitted",
        "bcc",
        "cc",
        "date",
        "delivered-to",
        "dkim-signature",
        "domainkey-signature",
        "envelope-to",
        "from",
        "message-id",
        "received",
        "received-spf",
        "reply-to",
        "return-path",
        "sender",
        "subject",
        "to",
        "x-original-to",
    }
)
_RESERVED_FAMILIES: Final = ("arc-", "content-", "mime-", "resent-", "x-waypost-")

_NAME: Final = re.compile(r"(?!\.)[!-9;-~]+\Z")
# Everything that some reader of mail takes for the end of a line, and every other control character but the tab.
_BREAKS: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# Written back to front: the engine leaps from dot to dot, three times as fast as looking for either pair of bytes.
_DOT_AFTER_BREAK: Final = re.compile(rb"\.(?<=[\r\n]\.)")


def message_id_of(notification_id: UUID, domain: str) -> str:
    """Without angle brackets. The same on every retry, so that a message sent twice is seen as one."""
    return f"{show_ulid(notification_id).lower()}@{domain}"


def is_wire_safe(message: bytes) -> bool:
    """Ends with CR LF, and no line begins with a dot, by anybody's notion of a line: it ends where it should.

    Asked of what the render process made, because content is untrusted there, and a message that ends early lets its
    rest be read as commands."""
    return message.endswith(b"\r\n") and not message.startswith(b".") and _DOT_AFTER_BREAK.search(message) is None


def is_reserved(name: str) -> bool:
    """In lower case. Ours to write, or true only of the way that a message has gone so far."""
    return name in _RESERVED or name.startswith(_RESERVED_FAMILIES)


def check_headers(headers: Sequence[tuple[str, str]], *, pointer: str) -> Iterator[FieldError]:
    """What is wrong with a caller's own headers, each by its place below `pointer`."""
    if len(headers) > MOST_HEADERS:
        yield FieldError(pointer=pointer, code="too_many", message=f"At most {MOST_HEADERS} headers.")
        return
    seen = set[str]()
    for name, value in headers:
        place = f"{pointer}/{_segment(name)}"
        known = name.lower()
        if fault := _fault_of_name(known) or _fault_of_value(value):
            yield FieldError(pointer=place, code=fault[0], message=fault[1])
        elif known in seen:
            yield FieldError(pointer=place, code="duplicate", message="This header is given twice.")
        seen.add(known)


def _fault_of_name(name: str) -> tuple[str, str] | None:
    if not name or len(name) > LONGEST_HEADER_NAME or not _NAME.match(name):
        return "header_refused", (
            f"A header's name has 1 to {LONGEST_HEADER_NAME} printable ASCII characters, no space, no colon and no dot "
            "at its start."
        )
    if is_reserved(name):
        return "header_reserved", "This header is written by Waypost or on the way; it cannot be set by a call."
    return None


def _fault_of_value(value: str) -> tuple[str, str] | None:
    if not value.strip():
        return "header_refused", "A header's value cannot be empty."
    if len(value) > LONGEST_HEADER_VALUE:
        return "too_long", f"A header's value has at most {LONGEST_HEADER_VALUE} characters."
    if _BREAKS.search(value):
        return "header_refused", "A header's value cannot hold line breaks or other control characters."
    if any(len(word) > LONGEST_HEADER_WORD for word in value.split(" ")):
        return "too_long", f"A header's value cannot hold a word of more than {LONGEST_HEADER_WORD} characters."
    return None


def _segment(name: str) -> str:
    """As part of a JSON pointer, bounded, without what a log or a terminal could trip over."""
    return _BREAKS.sub("\N{REPLACEMENT CHARACTER}", name[:100]).replace("~", "~0").replace("/", "~1")
