"""A submitted mail, before and after it has been read."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

CONTROL: Final = "x-waypost-"
"""Headers with this beginning tell Waypost what to do, and go no further."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmittedMail:
    """What came over the wire. Who it is for, its envelope says; what its head says about that is not asked."""

    recipients: tuple[str, ...] = field(repr=False)
    content: bytes = field(repr=False)


class Enclosure(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A part of the mail that is neither its text nor its HTML."""

    name: str
    media_type: str
    content: bytes
    content_id: str | None = None
    """Set where the HTML shows it (`cid:`)."""


class ReadMail(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag=1):
    """The parts of a mail, decoded, by whoever may look at foreign content."""

    sender: str
    """`Name <address>`, or the address alone."""
    reply_to: str | None
    message_id: str | None
    """As written, with its angle brackets."""
    subject: str
    html: str | None
    text: str | None
    headers: tuple[tuple[str, str], ...] = ()
    """What else stands in its head, except what belongs to its way and its form."""
    controls: tuple[tuple[str, str], ...] = ()
    """By the name after `X-Waypost-`, in lower case."""
    enclosures: tuple[Enclosure, ...] = ()


class UnreadMail(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag=2):
    """Why a mail cannot be read. `message` repeats nothing of it."""

    code: str
    message: str
