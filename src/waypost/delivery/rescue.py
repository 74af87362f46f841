"""Taking up what a lost worker held: by its journal where that can be read, by its lease where not."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from msgspec import structs

from waypost.delivery.lease import Lease
from waypost.delivery.model import Bounced, Closed, Held, Settlement
from waypost.delivery.ports import (
    AbandonedJournal,
    Addressees,
    DispatchStore,
    JournalShelf,
    Telemetry,
    WorkerStore,
)
from waypost.delivery.rules import WORKER_LOST, close, consequence_of, give_back
from waypost.delivery.settle import Settler
from waypost.kernel.backoff import Random
from waypost.kernel.clock import Clock

_log: Final = structlog.stdlib.get_logger()
_Judge = Callable[[Held], Settlement]


class Rescue:
    """Every write is fenced by the lost worker's own attempt: two rescuers, or a worker that comes back, do no harm."""

    def __init__(
        self,
        *,
        workers: WorkerStore,
        store: DispatchStore,
        shelf: JournalShelf,
        telemetry: Telemetry,
        lease: Lease,
        clock: Clock,
        random: Random,
        addressees: Addressees | None = None,
    ) -> None:
        self._workers = workers
        self._addressees = addressees
        self._store = store
        self._shelf = shelf
        self._telemetry = telemetry
        self._lease = lease
        self._clock = clock
        self._random = random

    async def rescue(self) -> int:
        """Journals first: what they know would otherwise be in doubt."""
        return await self.by_journals() + await self.by_leases()

    async def by_journals(self) -> int:
        """Workers of this host that are dead for certain: no lease needs to run out."""
        rescued = 0
        journals = list(self._shelf.abandoned())
        try:
            while journals:
                journal = journals[-1]
                if journal.can_be_trusted:
                    rescued += await self._take_over(journal.worker_id, partial(self._by_mark, journal))
                # Until its lease has run out, a claim that it sent off before it died may still be committed.
                if await self._workers.is_known(journal.worker_id):
                    journals.pop().leave()
                else:
                    journals.pop().discard()
        finally:
            # A lock kept after a rescue that was cut short would hide its journal from every later one.
            for journal in journals:
                journal.leave()
        return rescued

    async def by_leases(self) -> int:
        """Workers that have not been heard of. What they had begun is in doubt; the rule of its category decides."""
        if not self._lease.may_judge_others:
            return 0
        rescued = 0
        for worker_id in await self._workers.lost(self._lease.seconds):
            # Asked late: another worker of this host may have taken up its journal a moment ago.
            if worker_id not in self._shelf.dead():
                rescued += await self._take_over(worker_id, self._in_doubt)
        return rescued

    async def _take_over(self, worker_id: UUID, judge: _Judge) -> int:
        rescued = 0
        settler = Settler(store=self._store, clock=self._clock, worker_id=worker_id)
        for hold in await self._workers.holds(worker_id):
            judged = [judge(held) for held in await self._workers.open_attempts(worker_id, hold)]
            settlements = await self._with_consequences(hold.tenant_id, judged)
            if settlements and not await settler.settle_some(hold.batch_id, settlements):
                continue
            await self._workers.let_go(worker_id, hold)
            self._telemetry.rescued(settlements)
            rescued += len(settlements)
        await self._workers.forget(worker_id)
        if rescued:
            _log.info("worker taken over", action="rescued", worker=str(worker_id), rows=rescued)
        return rescued

    def _by_mark(self, journal: AbandonedJournal, held: Held) -> Settlement:
        mark = journal.mark_of(held)
        if mark is None or not (mark.going or mark.outcome):
            return give_back(held, self._clock.now(), blamed=True)
        return close(held, mark.outcome or WORKER_LOST, self._clock.now(), self._random)

    async def _with_consequences(self, tenant_id: str, judged: Sequence[Settlement]) -> Sequence[Settlement]:
        """A refusal that only the journal tells of means as much for its address as one that was settled at once."""
        found = {
            one.held.id: consequence
            for one in judged
            if isinstance(one, Closed) and (consequence := consequence_of(one.outcome, one.end)) is not None
        }
        if not found or self._addressees is None:
            return judged
        known = await self._addressees.masked(tenant_id, sorted(found))
        return [
            structs.replace(one, bounced=Bounced(address_id=to[0], masked=to[1], consequence=found[one.held.id]))
            if isinstance(one, Closed) and one.held.id in found and (to := known.get(one.held.id)) is not None
            else one
            for one in judged
        ]

    def _in_doubt(self, held: Held) -> Settlement:
        return close(held, WORKER_LOST, self._clock.now(), self._random)
