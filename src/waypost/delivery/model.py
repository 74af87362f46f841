"""What the delivery engine handles: claimed work, how each piece of it ended, and how that reads afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.channels.model import Outcome
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention
from waypost.suppression.model import SuppressionReason


class State(IntEnum):
    """The life of a notification. From 7 on they are stored in `notifications.status`; the others are read from queue
    and attempts."""

    SCHEDULED = 1
    QUEUED = 2
    DISPATCHING = 3
    DISPATCHED = 4
    DELIVERED = 5
    BOUNCED = 6
    FAILED = 7
    SUPPRESSED = 8
    CANCELLED = 9
    EXPIRED = 10
    UNCONFIRMED = 11

    @property
    def word(self) -> str:
        return self.name.lower()


ENDS: Final = frozenset(
    {
        State.DISPATCHED,
        State.DELIVERED,
        State.BOUNCED,
        State.FAILED,
        State.SUPPRESSED,
        State.CANCELLED,
        State.EXPIRED,
        State.UNCONFIRMED,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueRow:
    """Work to do: attempt number `attempt + 1` of the notification, when `due` comes."""

    id: UUID
    channel: Channel
    priority: Priority
    due: datetime
    retention: Retention
    attempt: int = 0
    claims: int = 0
    """Claims that ended without a word: at two the row goes alone, at four to the dead letters."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The sender account by which a message leaves, with room reserved for it."""

    account_id: UUID
    version: int = 0
    """Of the account, as it was when room was reserved."""
    provider: str | None = None
    """Who runs the recipient's mailbox; None where only a rescuer knows of it."""
    mailbox: str | None = None
    """What stands in From where the message names nobody."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One notification in a worker's hands: its queue row is gone; its open attempt `n` fences every later write.

    A struct, not a dataclass, like everything that is made once per message: it is made ten times faster."""

    tenant_id: str
    id: UUID
    retention: Retention
    n: int
    claims: int
    channel: Channel
    category: Category
    priority: Priority
    expires_at: datetime
    way: Way | None = None
    """None: the installation's own."""


class Claimed(Held, frozen=True, kw_only=True):
    """What a worker holds, with all that is needed to send it."""

    recipient_id: UUID
    address_id: UUID | None
    version_id: UUID
    locale: str | None
    payload: bytes
    """Sealed under the recipient's data key, bound to `payload:<tenant>:<notification uuid>`."""
    secrets: bytes | None
    data_key: bytes | None
    """Wrapped; None when the recipient has been erased."""
    topic: str | None = None
    gate_changed: bool
    """Something about the recipient has changed since submit (or submit is long ago): ask the whole gate again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """An entry of the timeline that no attempt tells."""

    event: str
    reason: str | None = None
    detail: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    once_a_day: bool = False
    """One such entry says it for the whole day."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """A stored end of a notification."""

    state: State
    reason: str


class Closed(msgspec.Struct, frozen=True, kw_only=True):
    """The vendor was called: its attempt is closed with what came of it."""

    held: Held
    outcome: Outcome
    retry_at: datetime | None = None
    end: End | None = None
    """None with no `retry_at`: accepted."""
    claims: int = 0
    """For the row that goes back: a word was said, so the count starts anew, unless the word is that nobody knows."""
    sealed_reply: bytes | None = None
    bounced: "Bounced | None" = None
    copy: "InboxCopy | None" = None
    """Of a message for an inbox: to be put there in the transaction that closes its attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxCopy:
    """A message on its way into a person's inbox; the content is sealed under their key."""

    recipient_id: UUID
    inbox: str
    topic: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounced:
    """What a refusal means for the address, and under which mask it will be shown."""

    address_id: UUID
    masked: str
    consequence: "Consequence"


@dataclass(frozen=True, kw_only=True, slots=True)
class Consequence:
    """A suppression, once so many messages to the address have ended for the same reason."""

    suppression: SuppressionReason
    times: int = 1
    within: timedelta = timedelta(days=90)
    lasts: timedelta | None = None
    """None: until somebody takes it back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """It ends without a call: the attempt is taken back."""

    held: Held
    end: End
    note: Note


@dataclass(frozen=True, kw_only=True, slots=True)
class Returned:
    """No call was made: the attempt is taken back and the notification goes back to the queue."""

    held: Held
    due: datetime
    claims: int
    note: Note | None = None
    hold: bool = False
    """Because something it belongs to is paused: it is put aside, unless the pause has ended meanwhile."""
    account: UUID | None = None
    """The paused sender account that it waits for."""


Settlement = Closed | Ended | Returned


@dataclass(frozen=True, kw_only=True, slots=True)
class StateView:
    """How a notification stands, derived and therefore current."""

    channel: Channel
    state: State
    reason: str | None
    attempts: int
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineEntry:
    at: datetime
    event: str
    reason: str | None
    detail: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptView:
    n: int
    started_at: datetime
    account_id: UUID | None
    """The sender account it went out by."""
    latency_ms: int | None
    outcome: str | None
    """None while the attempt is open."""
    reason: str | None
    code: int | None
    reference: str | None
    reply: bytes | None
    """Sealed under the recipient's data key, bound to `reply:<tenant>:<notification uuid>`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What waits on one channel at one priority, over all tenants."""

    channel: Channel
    priority: Priority
    rows: int
    """Counted to 100,000."""
    oldest_seconds: float
    """How long the longest waiting one has been due."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How the whole installation stands, in numbers."""

    waiting: Sequence[Waiting]
    workers_alive: int
    stray_rows: int
    """In DEFAULT partitions, which must stay empty."""
