"""Whom a link in a message is about: packed into the subject of its token."""

import struct
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel.vocabulary import Channel
from waypost.preferences.model import ALL_MARKETING
from waypost.preferences.rules import is_topic_key

_FIXED: Final = 37
_NOBODY: Final = bytes(16)
_FIXED_END: Final = struct.Struct(">BI")


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
        return pack(self.recipient_id, self.channel, self.topic, self.address_id, self.n)


def pack(recipient_id: UUID, channel: Channel, topic: str, address_id: UUID | None, n: int = 0) -> bytes:
    """What `unpack` reads."""
    return pack_person(recipient_id, address_id) + pack_matter(channel, topic, n)


def pack_person(recipient_id: UUID, address_id: UUID | None) -> bytes:
    """What a subject begins with."""
    return recipient_id.bytes + (address_id.bytes if address_id else _NOBODY)


def pack_matter(channel: Channel, topic: str, n: int = 0) -> bytes:
    """What it ends with: the same for everybody who gets a message of one kind."""
    return _FIXED_END.pack(channel, n) + topic.encode("ascii")


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
