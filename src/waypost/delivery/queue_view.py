"""How the queue stands: what waits in each lane and since when. Cheap whatever is queued, for counting ends early."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from waypost.kernel.clock import Clock
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel, Priority
from waypost.kernel.work import Transaction

MOST_COUNTED: Final = 100_000
MOST_COUNTED_OF_EACH: Final = 10_000
"""In the platform's view, of each tenant's lane."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneView:
    channel: Channel
    priority: Priority
    waiting: int
    """Due now."""
    scheduled: int
    """Due later: planned, or to be tried again."""
    held: int
    """Put aside by a pause of their account, broadcast or category."""
    in_flight: int
    oldest_due: datetime | None
    paused: bool
    capped: bool
    """There are at least so many: counting stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueStanding:
    at: datetime
    lanes: Sequence[LaneView]
    workers_alive: int

    @property
    def oldest_seconds(self) -> float:
        ages = [(self.at - lane.oldest_due).total_seconds() for lane in self.lanes if lane.oldest_due]
        return max(0.0, *ages, 0.0)


class QueueStore(Protocol):
    async def lanes(self, tx: Transaction, at_most: int) -> Sequence[LaneView]:
        """Of the transaction's tenant."""
        ...

    async def totals(self, tx: Transaction, at_most: int) -> Sequence[LaneView]:
        """Sums over all tenants, each lane of each counted so far."""
        ...

    async def workers_alive(self, tx: Transaction) -> int: ...


class QueueDesk:
    def __init__(self, *, store: QueueStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def look(self, tx: Transaction, scope: Scope) -> QueueStanding:
        """The tenant's own lanes; for the platform, the sums over all tenants."""
        scope.demand(Permission.OPERATIONS_READ)
        if scope.is_platform:
            lanes = await self._store.totals(tx, MOST_COUNTED_OF_EACH)
        else:
            lanes = await self._store.lanes(tx, MOST_COUNTED)
        alive = await self._store.workers_alive(tx)
        return QueueStanding(at=self._clock.now(), lanes=lanes, workers_alive=alive)
