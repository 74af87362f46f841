"""Events, triggers and timers."""

from dataclasses import dataclass, field, fields
from datetime import datetime, time
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.durations import Duration
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.notifications.model import AcceptedNotification, Routing
from waypost.triggers.paths import Path

DEFAULT_CONSUMER: Final = "api"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """A fact that the customer's product tells. (consumer, id) is taken in once."""

    id: str
    type: str
    occurred_at: datetime
    data: JsonObject = field(repr=False)
    consumer: str = DEFAULT_CONSUMER

    @property
    def source(self) -> str:
        return f"{self.consumer}/{self.id}"

    @property
    def plain(self) -> JsonObject:
        """What paths are read from."""
        return {
            "id": self.id,
            "type": self.type,
            "occurred_at": self.occurred_at.isoformat(),
            "consumer": self.consumer,
            "data": self.data,
        }


class DigestSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    window: str
    key: str | None = None


class ThrottleSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    max: int
    per: str
    key: str | None = None


class TrackingSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    opens: bool | None = None
    clicks: bool | None = None


class TriggerSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A trigger as its author writes it, and as it is stored."""

    event_type: str
    template: str | None = None
    channel: str | None = None
    channels: tuple[str, ...] | None = None
    routing: str | None = None
    after: str | None = None
    category: str | None = None
    priority: str = "normal"
    recipient: str | None = None
    variables: JsonObject | None = None
    anchor: str | None = None
    offset: str | None = None
    at: str | None = None
    timezone: str | None = None
    grace: str | None = None
    subject_key: str | None = None
    digest: DigestSpec | None = None
    throttle: ThrottleSpec | None = None
    tracking: TrackingSpec | None = None
    refire: bool = False
    reschedules: str | None = None
    cancels: str | None = None
    enabled: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Who:
    """Where the recipients come from: a place in the event, or everyone with one of these tags."""

    path: Path | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """When: so long before or after an anchor, which is the event's own time or a time inside it."""

    anchor: Path | None
    offset: Duration
    at: time | None
    timezone: str | None
    grace: Duration


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    window: Duration
    key: Path | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Throttle:
    max: int
    per: Duration
    key: Path | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sends:
    """The part of a trigger that starts a message."""

    template: str
    channels: tuple[Channel, ...]
    routing: Routing
    after: Duration | None
    category: Category | None
    priority: Priority
    who: Who
    variables: JsonObject | None
    schedule: Schedule | None
    grace: Duration
    subject: Path | None
    digest: Digest | None
    throttle: Throttle | None
    refire: bool
    tracking: Tracking = UNSAID


@dataclass(frozen=True, kw_only=True, slots=True)
class Tells:
    """The part of a trigger that moves or drops the timers of a subject."""

    subject: Path
    cancels: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    sends: Sends | None
    tells: Tells | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """One row of the trigger map. A tenant's row stands in for the platform's row of the same key."""

    tenant_id: str
    id: UUID
    key: str
    spec: TriggerSpec
    rule: Rule
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def is_platforms(self) -> bool:
        return self.tenant_id == PLATFORM

    @property
    def enabled(self) -> bool:
        return self.spec.enabled


class TimerKind(StrEnum):
    TRIGGER = "trigger"
    DIGEST = "digest"
    ESCALATION = "escalation"


class TimerState(StrEnum):
    """As it is stored; one that waits and has been moved is shown as `moved`."""

    WAITING = "waiting"
    FIRED = "fired"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Reason(StrEnum):
    """Why a timer was dropped, besides the code of a refusal by submit."""

    CANCELLED_BY_EVENT = "cancelled_by_event"
    ANCHOR_MISSING = "anchor_missing"
    ANCHOR_INVALID = "anchor_invalid"
    TOO_LATE = "too_late"
    TOO_FAR_AHEAD = "too_far_ahead"
    TRIGGER_GONE = "trigger_gone"
    TRIGGER_DISABLED = "trigger_disabled"
    RECIPIENT_ERASED = "recipient_erased"
    NO_RECIPIENTS = "no_recipients"
    TOO_MANY_RECIPIENTS = "too_many_recipients"
    SEEN = "seen"
    FAILED = "failed"
    BY_REQUEST = "by_request"


REPLANNED: Final = frozenset(
    {Reason.CANCELLED_BY_EVENT, Reason.ANCHOR_MISSING, Reason.ANCHOR_INVALID, Reason.TOO_LATE, Reason.TOO_FAR_AHEAD}
)
"""What news about the subject can bring back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timer:
    """Work to do later. Its payload is sealed: under the recipient's key, or the tenant's where nobody is named yet."""

    id: UUID
    kind: TimerKind
    trigger_id: UUID | None
    source: str
    recipient_id: UUID | None
    subject_key: str | None
    slot: str | None
    state: TimerState
    reason: str | None
    occurred_at: datetime
    due: datetime | None
    payload: bytes = field(repr=False)
    collecting: bool = False
    collected: int = 0
    generation: int = 1
    tries: int = 0
    moved_at: datetime | None = None
    request_id: UUID | None = None
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def once(self) -> str:
        """The dedupe key of what it sends: each time it fires for another reason it is another message."""
        if self.kind is TimerKind.DIGEST:
            return f"dig:{self.id}"
        return f"tmr:{self.id}" if self.generation == 1 else f"tmr:{self.id}:{self.generation}"

    @property
    def word(self) -> str:
        if self.state is TimerState.WAITING:
            return "pending" if self.moved_at is None else "moved"
        return self.state.value


@dataclass(frozen=True, kw_only=True, slots=True)
class TimerView:
    """A timer as it is shown."""

    timer: Timer
    recipient: str | None
    """The caller's id; None where the recipients are found when it fires."""


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """What an event says about a subject: its anchor moved, or it is no more."""

    subject_key: str
    event: Event
    cancels: bool

    @property
    def order(self) -> tuple[datetime, bool, str, str]:
        """All news of a subject in one order, however they arrive. At the same moment, cancelled is the last word."""
        return self.event.occurred_at, self.cancels, self.event.consumer, self.event.id


@dataclass(slots=True)
class Counts:
    """What came of one event or of many."""

    notifications: int = 0
    suppressed: int = 0
    timers: int = 0
    skipped: int = 0
    digested: int = 0
    moved: int = 0
    cancelled: int = 0
    duplicates: int = 0

    def add(self, others: "Counts") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(others, each.name))


@dataclass(slots=True)
class Taken:
    """An event that was taken in, and what it started."""

    event: Event
    duplicate: bool = False
    notifications: list[AcceptedNotification] = field(default_factory=list[AcceptedNotification])
    timers: list[TimerView] = field(default_factory=list[TimerView])
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True, kw_only=True, slots=True)
class TimerFilter:
    recipient: str | None = None
    subject_key: str | None = None
    trigger_id: UUID | None = None
    state: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedEvent:
    """A pulled event that could not be taken in."""

    id: UUID
    consumer: str
    event_id: str
    attempts: int
    code: str
    problem: str
    failed_at: datetime
    dead_at: datetime | None
