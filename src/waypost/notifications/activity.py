"""What a tenant's messages did lately, in bars of equal length, and what waits right now."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final, Protocol
from uuid import UUID

from waypost.delivery.model import State
from waypost.kernel.clock import Clock
from waypost.kernel.ids import first_id_at
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel, Priority
from waypost.kernel.work import Transaction
from waypost.tenants.short_memory import ShortMemory

MOST_COUNTED: Final = 50_000
"""Messages counted in one bar; above that it only says so, and a look at a busy day stays cheap."""
SAMPLE: Final = 100
"""Messages at each end of a bar whose wait is looked up: those in the middle of a burst waited in between."""
_FRESHEST_SECONDS: Final = 4.0
_STALEST_SECONDS: Final = 60.0
_MOST_REMEMBERED: Final = 1_000


class Window(Enum):
    """How far back to look, and how long a bar is."""

    HOUR = ("1h", timedelta(minutes=1), 60)
    DAY = ("24h", timedelta(minutes=30), 48)
    WEEK = ("7d", timedelta(hours=3), 56)
    MONTH = ("30d", timedelta(hours=12), 60)

    def __init__(self, word: str, step: timedelta, bars: int) -> None:
        self.word = word
        self.step = step
        self.bars = bars

    @property
    def remembered_seconds(self) -> float:
        """A sixtieth of a bar, within reason: nobody sees a day's bars move in between."""
        return min(max(self.step.total_seconds() / 60, _FRESHEST_SECONDS), _STALEST_SECONDS)

    def bounds(self, now: datetime) -> list[datetime]:
        """The beginnings of the bars and the end of the last one, on whole steps; `now` lies in the last."""
        seconds = int(self.step.total_seconds())
        end = datetime.fromtimestamp((int(now.timestamp()) // seconds + 1) * seconds, tz=UTC)
        return [end - self.step * (self.bars - place) for place in range(self.bars + 1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Of the messages accepted within one bar: all, those still in the queue, and those with a stored end."""

    accepted: int
    queued: int
    ended: Mapping[State, int] = field(default_factory=dict[State, int])


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """Seconds from when a message should go to its first attempt."""

    median: float
    longest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    start: datetime
    accepted: int
    is_floor: bool
    """There are more than were counted."""
    states: Mapping[State, int]
    """How they stand now; together they are `accepted`."""
    waits: Waits | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    channel: Channel
    priority: Priority
    due: int
    later: int
    oldest_due: datetime | None
    """Of what should have gone already; None where nothing waits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    window: Window
    at: datetime
    bars: Sequence[Bar]
    lanes: Sequence[Lane]


class ActivityStore(Protocol):
    async def counts(self, tx: Transaction, bounds: Sequence[UUID], at_most: int) -> Sequence[Counts]: ...

    async def held(self, tx: Transaction) -> Set[UUID]:
        """What workers hold right now."""
        ...

    async def waits(self, tx: Transaction, bounds: Sequence[UUID], sample: int) -> Sequence[Waits | None]: ...

    async def lanes(self, tx: Transaction, now: datetime, at_most: int) -> Sequence[Lane]: ...


class ActivityReader:
    """Remembers the bars for a while, the longer the more they hold: many people may have the same page open."""

    def __init__(self, *, store: ActivityStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen = {
            window: ShortMemory[str, Sequence[Bar]](clock, seconds=window.remembered_seconds, most=_MOST_REMEMBERED)
            for window in Window
        }

    async def look(self, tx: Transaction, scope: Scope, window: Window) -> Activity:
        scope.demand(Permission.NOTIFICATIONS_READ)
        now = self._clock.now()
        bars = self._seen[window].recall(tx.tenant_id)
        if bars is None:
            bars = await self._count(tx, window, now)
            self._seen[window].keep(tx.tenant_id, bars)
        return Activity(window=window, at=now, bars=bars, lanes=await self._store.lanes(tx, now, MOST_COUNTED))

    async def _count(self, tx: Transaction, window: Window, now: datetime) -> Sequence[Bar]:
        bounds = window.bounds(now)
        edges = [first_id_at(moment) for moment in bounds]
        counts = await self._store.counts(tx, edges, MOST_COUNTED)
        waits = await self._store.waits(tx, edges, SAMPLE)
        held = await self._store.held(tx)
        return [
            _bar(start, count, sum(low <= one < high for one in held), wait)
            for start, low, high, count, wait in zip(bounds, edges, edges[1:], counts, waits, strict=False)
        ]


def _bar(start: datetime, counts: Counts, held: int, waits: Waits | None) -> Bar:
    """What is neither waiting, nor held, nor ended otherwise, has been sent."""
    ended = sum(counts.ended.values())
    states = {
        State.DISPATCHED: max(0, counts.accepted - ended - counts.queued - held),
        State.QUEUED: counts.queued,
        State.DISPATCHING: held,
        **counts.ended,
    }
    return Bar(
        start=start,
        accepted=counts.accepted,
        is_floor=counts.accepted >= MOST_COUNTED,
        states={state: count for state, count in states.items() if count},
        waits=waits,
    )
