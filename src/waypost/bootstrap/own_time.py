"""For processes whose time is told by somebody: what takes the place of the database's clock and of the bell."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from waypost.delivery.model import Claimed, Settlement
from waypost.delivery.ports import DispatchStore, Ear
from waypost.kernel.clock import VirtualClock
from waypost.rehearsal.ports import Timekeeper


class ToldClock(VirtualClock):
    """What the database says about the time, it was told by us."""

    def correct(self, database_now: datetime) -> None:
        return


@dataclass(frozen=True, kw_only=True)
class OwnTime:
    clock: ToldClock
    ear: Ear
    timekeeper: Timekeeper
    search_path: str
    depth: int = 1
    """One batch at a time: whoever waits for work then knows that nothing is on the road."""


class TimedDispatch:
    """Implements `delivery.ports.DispatchStore`: between two batches the time passes that the first took."""

    def __init__(self, store: DispatchStore, timekeeper: Timekeeper) -> None:
        self._store = store
        self._timekeeper = timekeeper

    async def claim(self, worker_id: UUID, batch_id: UUID, at_most: int) -> Sequence[Claimed]:
        return await self._store.claim(worker_id, batch_id, at_most)

    async def claim_suspect(self, worker_id: UUID, batch_id: UUID) -> Claimed | None:
        return await self._store.claim_suspect(worker_id, batch_id)

    async def settle(
        self, worker_id: UUID, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool
    ) -> Set[UUID]:
        settled = await self._store.settle(worker_id, batch_id, settlements, whole=whole)
        await self._timekeeper.batch_done()
        return settled

    async def has_suspects(self) -> bool:
        return await self._store.has_suspects()

    async def next_due(self) -> datetime | None:
        due = await self._store.next_due()
        self._timekeeper.work_is_due(due)
        return due
