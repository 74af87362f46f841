"""What must be done again and again besides sending: rescue, repair, purge, partitions ahead."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol

import structlog

from waypost.delivery.rescue import Rescue
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable

_log: Final = structlog.stdlib.get_logger()
_DAY: Final = timedelta(days=1).total_seconds()


class Purged(StrEnum):
    """Tables whose rows outlive their use; deleted tenant by tenant, a bounded batch at a time."""

    IDEMPOTENCY_KEYS = "idempotency_keys"
    GATE_CHANGES = "gate_changes"
    NOTIFICATION_DEDUPE = "notification_dedupe"
    OUTBOX = "outbox"
    OUTBOX_UNREAD = "outbox_unread"
    PUBLISH_BACKLOG = "publish_backlog"
    WEBHOOK_DELIVERIES = "webhook_deliveries"
    CONSUMED_EVENTS = "consumed_events"
    EVENT_FAILURES = "event_failures"
    TIMERS = "timers"
    TIMER_NEWS = "timer_news"
    THROTTLES = "throttles"
    DEAD_LETTERS = "dead_letters"
    TROUBLE_COUNTS = "trouble_counts"
    ALERTS = "alerts"
    BLOBS = "blobs"


KEPT: Final = {
    Purged.IDEMPOTENCY_KEYS: timedelta(hours=24),
    Purged.GATE_CHANGES: timedelta(days=8),
    Purged.NOTIFICATION_DEDUPE: timedelta(0),
    Purged.CONSUMED_EVENTS: timedelta(days=30),
    Purged.EVENT_FAILURES: timedelta(days=90),
    Purged.TIMERS: timedelta(days=90),
    Purged.TIMER_NEWS: timedelta(0),
    Purged.THROTTLES: timedelta(days=31),
    Purged.DEAD_LETTERS: timedelta(days=90),
    Purged.TROUBLE_COUNTS: timedelta(days=1),
    Purged.ALERTS: timedelta(days=90),
    Purged.BLOBS: timedelta(0),
}
"""How long after its own date a row is kept."""
NEWS: Final = (Purged.OUTBOX, Purged.OUTBOX_UNREAD, Purged.PUBLISH_BACKLOG, Purged.WEBHOOK_DELIVERIES)
"""These are kept as long as the operator says."""


class UpkeepStore(Protocol):
    async def make_partitions(self) -> dict[str, str]:
        """Months ahead; answers what could not be made, and why."""
        ...

    async def wake_sleeping_lanes(self) -> int: ...

    async def purge(self, what: Purged, older_than: timedelta) -> int:
        """One bounded round; 0 when nothing is left."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Chore:
    name: str
    every: float
    do: Callable[[], Awaitable[object]]


class Upkeep:
    def __init__(
        self,
        *,
        store: UpkeepStore,
        rescue: Rescue,
        clock: Clock,
        news_kept: timedelta = timedelta(days=7),
        more: Sequence[Chore] = (),
    ) -> None:
        self._store = store
        self.kept = KEPT | dict.fromkeys(NEWS, news_kept)
        self._clock = clock
        self.chores: tuple[Chore, ...] = (
            *more,
            Chore(name="rescue", every=5.0, do=rescue.rescue),
            Chore(name="wake_sleeping_lanes", every=30.0, do=store.wake_sleeping_lanes),
            Chore(name="purge", every=600.0, do=self.purge_all),
            Chore(name="make_partitions", every=_DAY, do=self.make_partitions),
        )

    async def keep(self) -> None:
        """Until cancelled. Each chore is done at once, then at its interval; one that fails is tried again then."""
        async with asyncio.TaskGroup() as group:
            for chore in self.chores:
                group.create_task(self._repeat(chore))

    async def make_partitions(self) -> None:
        for name, problem in (await self._store.make_partitions()).items():
            _log.error("partition not made", action="partition_missing", partition=name, problem=problem)

    async def purge_all(self) -> None:
        for what, kept in self.kept.items():
            while await self._store.purge(what, kept):
                pass

    async def _repeat(self, chore: Chore) -> None:
        while True:
            try:
                await chore.do()
            except Unavailable as error:
                _log.warning("chore waits", action="chore_waits", chore=chore.name, cause=error.detail)
            except Exception as error:
                _log.error("chore failed", action="chore_failed", chore=chore.name, kind=type(error).__name__)
            await self._clock.sleep(chore.every)
