"""How much may go out: rate limits, which defer, and the cap on marketing, which skips. Pure; exact under a lock.

A limit counts messages within fixed windows of a minute or a day (UTC), for the whole tenant, for a channel or for one
recipient. What finds a window full is planned into a later one, so that a backlog spreads out instead of knocking again
every minute; the plan is only a plan: the count decides when the message comes again. Security messages are counted and
never wait. The cap counts marketing messages to one recipient within a window that slides.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category, Channel

NOBODY: Final = UUID(int=0)
HIGHEST_LIMIT: Final = 1_000_000_000
HIGHEST_CAP: Final = 100
LONGEST_WINDOW: Final = timedelta(days=90)


class Span(IntEnum):
    MINUTE = 1
    DAY = 2

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def length(self) -> timedelta:
        return timedelta(minutes=1) if self is Span.MINUTE else timedelta(days=1)

    def window_of(self, moment: datetime) -> datetime:
        start = moment.replace(second=0, microsecond=0)
        return start if self is Span.MINUTE else start.replace(hour=0, minute=0)


class Whose(IntEnum):
    TENANT = 1
    CHANNEL = 2
    RECIPIENT = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Subject(NamedTuple):
    """What is counted. `channel` is 0 and `recipient_id` nil where they do not matter."""

    whose: Whose
    channel: int
    recipient_id: UUID
    span: Span


class Cap(msgspec.Struct, frozen=True, kw_only=True):
    """At most so many marketing messages to one recipient within the window."""

    max: int
    seconds: int

    @property
    def window(self) -> timedelta:
        return timedelta(seconds=self.seconds)


class Rate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    minute: int | None = None
    day: int | None = None

    def of(self, span: Span) -> int | None:
        return self.minute if span is Span.MINUTE else self.day


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tenant allows itself."""

    tenant: Rate = Rate()
    channels: dict[str, Rate] = {}
    """By the channel's word."""
    recipient: Rate = Rate()
    marketing_cap: Cap | None = None

    @property
    def is_empty(self) -> bool:
        return self == Limits()


@dataclass(slots=True)
class Counter:
    starts_at: datetime
    taken: int = 0
    plan_at: datetime | None = None
    planned: int = 0


class Full(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that is reached, and when there will be room."""

    whose: Whose
    span: Span
    limit: int
    until: datetime


class LimitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How the limits stand for one message."""

    full: Full | None = None
    cap: Cap | None = None
    marketing_sent: int = 0
    """Within the cap's window."""

    @property
    def is_capped(self) -> bool:
        return self.cap is not None and self.marketing_sent >= self.cap.max


@dataclass(slots=True)
class Ledger:
    """The counts that concern a batch, and what the batch does to them. Whoever changes it holds the tenant's lock."""

    limits: Limits
    now: datetime
    counters: dict[Subject, Counter] = field(default_factory=dict[Subject, Counter])
    marks: dict[UUID, list[datetime]] = field(default_factory=dict[UUID, list[datetime]])
    """When each recipient got marketing, newest last."""
    touched: set[Subject] = field(default_factory=set[Subject])
    marked: set[UUID] = field(default_factory=set[UUID])

    def facts(self, channel: Channel, recipient_id: UUID) -> LimitFacts:
        full: Full | None = None
        for subject, limit in subjects_of(self.limits, channel, recipient_id):
            if self._counter(subject).taken >= limit:
                found = Full(whose=subject.whose, span=subject.span, limit=limit, until=self._next_room(subject, limit))
                full = found if full is None or found.until > full.until else full
        cap = self.limits.marketing_cap
        sent = len(self._recent(recipient_id, cap)) if cap else 0
        return LimitFacts(full=full, cap=cap, marketing_sent=sent)

    def take(self, channel: Channel, recipient_id: UUID, category: Category) -> None:
        """It goes out now."""
        for subject, _ in subjects_of(self.limits, channel, recipient_id):
            self._counter(subject).taken += 1
            self.touched.add(subject)
        cap = self.limits.marketing_cap
        if cap is not None and category is Category.MARKETING:
            self.marks[recipient_id] = [*self._recent(recipient_id, cap), self.now][-HIGHEST_CAP:]
            self.marked.add(recipient_id)

    def plan(self, channel: Channel, recipient_id: UUID) -> None:
        """It waits for the room that `facts` told of."""
        for subject, limit in subjects_of(self.limits, channel, recipient_id):
            counter = self._counter(subject)
            if counter.taken >= limit:
                room = self._next_room(subject, limit)
                counter.planned = counter.planned + 1 if counter.plan_at == room else 1
                counter.plan_at = room
                self.touched.add(subject)

    def _counter(self, subject: Subject) -> Counter:
        window = subject.span.window_of(self.now)
        counter = self.counters.get(subject)
        if counter is None:
            counter = self.counters[subject] = Counter(window)
        elif counter.starts_at < window:
            counter.starts_at, counter.taken = window, 0
        return counter

    def _next_room(self, subject: Subject, limit: int) -> datetime:
        counter = self._counter(subject)
        following = counter.starts_at + subject.span.length
        if counter.plan_at is None or counter.plan_at < following:
            return following
        return counter.plan_at if counter.planned < limit else counter.plan_at + subject.span.length

    def _recent(self, recipient_id: UUID, cap: Cap) -> list[datetime]:
        return [at for at in self.marks.get(recipient_id, ()) if at > self.now - cap.window]


def subjects_of(limits: Limits, channel: Channel, recipient_id: UUID) -> Iterator[tuple[Subject, int]]:
    """What a message counts against, and how much is allowed."""
    rates = (
        (Whose.TENANT, 0, NOBODY, limits.tenant),
        (Whose.CHANNEL, channel.value, NOBODY, limits.channels.get(channel.word, Rate())),
        (Whose.RECIPIENT, 0, recipient_id, limits.recipient),
    )
    for whose, on, who, rate in rates:
        for span in Span:
            if (limit := rate.of(span)) is not None:
                yield Subject(whose, on, who, span), limit


def words_of(limits: Limits) -> dict[str, JsonValue]:
    """For the audit: what is set."""
    return {name: value for name, value in msgspec.to_builtins(limits).items() if value}
