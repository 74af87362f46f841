"""Inboxes, posts, messages as one person sees them, and what that person did with each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.ids import moment_of
from waypost.kernel.jsontypes import JsonValue

DEFAULT_INBOX: Final = "main"
"""Where notifications of the channel `inapp` go that name no other."""
MOST_MADE: Final = 100
"""So many inboxes a tenant may have before notifications make no more: a wrong variable must not make a million."""
NO_TOPIC: Final = ""
"""How a message without a topic is stored. Callers see null."""
ALWAYS: Final = -1
"""`visible_since` of a tenant whose newcomers see every post for everyone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inbox:
    id: UUID
    key: str
    title: str
    description: str
    ttl: Mapping[str, str]
    """How long a message stays, by topic; `default` for the others."""
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """How much stands in an inbox: posts, and the copies that people have of their own, archived and snoozed apart."""

    posts: int
    copies: int
    unread: int
    """Of the copies. Posts for everyone are unread by whoever has not read them: their reach says how many have."""
    is_partial: bool
    """There are more copies than were counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxSettings:
    """What a tenant has chosen for all its inboxes."""

    ttl: str = "30d"
    visible_since: int = 0
    """Newcomers see posts for everyone from so many seconds before they joined; `ALWAYS`: all of them."""
    allowed_origins: tuple[str, ...] = ()
    identity_secret: bytes | None = field(default=None, repr=False)
    """Sealed by the tenant's key."""


class AudienceKind(StrEnum):
    USERS = "users"
    EVERYONE = "everyone"
    LIST = "list"
    FILTER = "filter"


@dataclass(frozen=True, kw_only=True, slots=True)
class AudienceFilter:
    """Whoever fits everything that is given."""

    all_tags: Sequence[str] = ()
    any_tags: Sequence[str] = ()
    locale: str | None = None
    kind: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Audience:
    kind: AudienceKind
    recipients: Sequence[str] = ()
    list_key: str | None = None
    filter: AudienceFilter | None = None
    label: str | None = None
    """How the sender calls it; nobody else sees it."""


class Action(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A button below a message."""

    label: str
    url: str | None = None
    id: str | None = None
    """For the application to tell which one was pressed."""


class PostContent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a message says: plain text, never markup. Kept sealed."""

    title: str
    body: str = ""
    cta_url: str | None = None
    actions: tuple[Action, ...] = ()
    data: dict[str, JsonValue] = {}
    sender: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PostCommand:
    audience: Audience
    content: PostContent
    topic: str | None = None
    ttl: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Posted:
    id: UUID
    copies: int | None
    """How many people it was for; None: everyone."""
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPost:
    id: UUID
    audience: AudienceKind
    label: str | None
    copies: int | None
    topic: str
    content: bytes | None = field(repr=False)
    """Sealed by the tenant's key."""
    copy: bytes | None = field(repr=False)
    """One person's copy, sealed by their key, where each has their own."""
    holder: UUID | None
    data_key: bytes | None = field(repr=False)
    expires_at: datetime
    redacted_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    """A post as its sender sees it."""

    id: UUID
    audience: AudienceKind
    label: str | None
    copies: int | None
    topic: str | None
    content: PostContent | None
    """None where nobody has it any more: redacted, or its readers erased."""
    expires_at: datetime
    redacted_at: datetime | None

    @property
    def received_at(self) -> datetime:
        return moment_of(self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    delivered: int
    seen: int
    read: int


class Facts(msgspec.Struct, frozen=True):
    """What one person did with one message. Each is a fact of its own."""

    seen_at: datetime | None = None
    read_at: datetime | None = None
    archived_at: datetime | None = None
    snoozed_until: datetime | None = None
    pinned_at: datetime | None = None
    clicked_at: datetime | None = None


class StoredMessage(msgspec.Struct, frozen=True):
    id: UUID
    public: bool
    """A post for everyone; else a copy of one's own."""
    is_notification: bool
    topic: str
    content: bytes | None
    is_shared: bool
    """Sealed by the tenant's key, not by the reader's."""
    expires_at: datetime
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Whose feed was asked for, and the key of what is in it."""

    recipient_id: UUID
    data_key: bytes = field(repr=False)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message as one person sees it."""

    id: UUID
    topic: str | None
    content: PostContent
    is_notification: bool
    expires_at: datetime
    facts: Facts

    @property
    def received_at(self) -> datetime:
        return moment_of(self.id)


class Act(StrEnum):
    """What a person can do with messages."""

    READ = "read"
    UNREAD = "unread"
    SEEN = "seen"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    SNOOZE = "snooze"
    UNSNOOZE = "unsnooze"
    PIN = "pin"
    UNPIN = "unpin"
    CLICK = "click"


@dataclass(frozen=True, kw_only=True, slots=True)
class Acted:
    """What came of it: the facts of each message that is there, and which are not."""

    done: Sequence[tuple[UUID, Facts]]
    missing: Sequence[UUID]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """Everything up to here that was there at that moment is read."""

    n: int
    at: datetime
    own_upto: UUID
    public_upto: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    total: int = 0
    unread: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How many messages a person has, without archived and snoozed ones, by topic (`NO_TOPIC` for those without)."""

    topics: Mapping[str, Tally]
    own_n: int = 0
    public_n: int = 0
    """The numbers of the last changes that are counted."""

    @property
    def total(self) -> int:
        return sum(tally.total for tally in self.topics.values())

    @property
    def unread(self) -> int:
        return sum(tally.unread for tally in self.topics.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedFilter:
    unread: bool = False
    topic: str | None = None
    archived: bool = False
    snoozed: bool = False
    pinned: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """A recipient who speaks for themselves, by a token."""

    tenant_id: str
    recipient_id: UUID
    external_id: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """A counter that is not what it should be. There are none."""

    where: str
    counted: int
    there: int
