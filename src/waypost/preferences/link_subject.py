"""Whom a link in a message is about: packed into the subject of its token."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel.vocabulary import Channel
from waypost.preferences.model import ALL_MARKETING
from waypost.preferences.rules import is_topic_key

_FIXED: Final = 37
_NOBODY: Final = bytes(16)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkSubject:
    recipient_id: UUID
    channel: Channel
    topic: str = ALL_MARKETING
    """A topic's key; empty where the message had none: then the link is about all marketing."""
    address_id: UUID | None = None
    """Where the message was sent to."""
    n: int = 0
    """The word in the history of consent that the link answers to, where it does."""

    def pack(self) -> bytes:
        address = self.address_id.bytes if self.address_id else _NOBODY
        fixed = self.recipient_id.bytes + address + bytes((self.channel,)) + self.n.to_bytes(4, "big")
        return fixed + self.topic.encode("ascii")


def unpack(raw: bytes) -> LinkSubject | None:
    """What a token's subject says; None where it was not made here."""
    if len(raw) < _FIXED:
        return None
    try:
        topic, channel = raw[_FIXED:].decode("ascii"), Channel(raw[32])
    except ValueError:
        return None
    if topic != ALL_MARKETING and not is_topic_key(topic):
        return None
    address = raw[16:32]
    return LinkSubject(
        recipient_id=UUID(bytes=raw[:16]),
        channel=channel,
        topic=topic,
        address_id=UUID(bytes=address) if address != _NOBODY else None,
        n=int.from_bytes(raw[33:_FIXED], "big"),
    )
