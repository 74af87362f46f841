"""Where batches come from: a worker claims them, as long as its lease lasts, and sends each down its road (`carry`).

Several batches are on the road at once (`depth`), so that the wire is not idle while the database works. Whoever is
next to claim holds the turn; the others carry what they have.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import structlog

from waypost.delivery.carry import Road
from waypost.delivery.dispatch_parts import Batch, DispatchParts
from waypost.delivery.patience import unless
from waypost.delivery.ports import LeaseLost
from waypost.delivery.rules import FIRST_CLAIM
from waypost.kernel.errors import Unavailable
from waypost.kernel.ids import mint

_log: Final = structlog.stdlib.get_logger()
POLL: Final = 2.0
"""Seconds after which a worker looks for work whatever the bell says."""
_SHORTEST_WAIT: Final = 0.005
_SUSPECTS_IN_A_ROW: Final = 20


class Dispatcher:
    def __init__(self, parts: DispatchParts, *, worker_id: UUID, batch_size: int = FIRST_CLAIM, depth: int = 2) -> None:
        self._parts = parts
        self._clock = parts.clock
        self._worker_id = worker_id
        self._depth = depth
        self._turn = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._road = Road(parts, batch_size=batch_size, stopping=self._stopping)
        self._suspects_asked_at = 0.0
        self.in_hand = self._road.in_hand
        """Batches that are being asked for, carried, or could not be settled."""

    async def run(self) -> None:
        """Until `stop`; then when everything begun has been settled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._depth):
                group.create_task(self._carry_batches())

    async def stop(self, grace_seconds: float) -> None:
        """Claims no more and gives back what has not begun; after the grace waits for nobody's answer any longer."""
        self._stopping.set()
        await unless(self._road.is_clear, self._clock.sleep(grace_seconds))
        self._road.cut.make()
        self._parts.settler.leave()

    async def _carry_batches(self) -> None:
        while (batch := await self._next_batch()) is not None:
            await self._road.carry(batch)

    async def _next_batch(self) -> Batch | None:
        async with self._turn:
            while not self._stopping.is_set():
                if not self._parts.lease.may_start_sending:
                    await self._renew_lease()
                    continue
                try:
                    await self._carry_suspects()
                    if (batch := await self._claim()).claimed:
                        return batch
                    await self._wait_for_work()
                except LeaseLost:
                    await self._renew_lease()
                except Unavailable as error:
                    _log.warning("claim waits", action="claim_waits", cause=error.detail)
                    await self._pause(POLL)
        return None

    async def _claim(self) -> Batch:
        term, batch_id, begun = self._parts.lease.term, mint(self._clock), self._clock.monotonic()
        with self._asking_for(batch_id):
            claimed = await self._parts.store.claim(self._worker_id, batch_id, self._road.claim_size)
        if claimed:
            self._parts.telemetry.claimed(len(claimed), self._clock.monotonic() - begun)
        else:
            self.in_hand.discard(batch_id)
        return Batch(id=batch_id, claimed=claimed, term=term)

    @contextmanager
    def _asking_for(self, batch_id: UUID) -> Generator[None]:
        """An answer that does not come may still mean that the batch is ours: see `strays`."""
        self.in_hand.add(batch_id)
        try:
            yield
        except BaseException:
            self.in_hand.discard(batch_id)
            raise

    async def _carry_suspects(self) -> None:
        """Rows that may have killed a worker go alone: while one is on the road, this worker holds nothing else."""
        if self._clock.monotonic() < self._suspects_asked_at + POLL:
            return
        if await self._parts.store.has_suspects():
            await self._road.is_clear.wait()
            for _ in range(_SUSPECTS_IN_A_ROW):
                if self._stopping.is_set():
                    break
                term, batch_id = self._parts.lease.term, mint(self._clock)
                with self._asking_for(batch_id):
                    suspect = await self._parts.store.claim_suspect(self._worker_id, batch_id)
                if suspect is None:
                    self.in_hand.discard(batch_id)
                    break
                await self._road.carry(Batch(id=batch_id, claimed=[suspect], term=term))
            else:
                return  # there may be more: ask again at the next turn
        self._suspects_asked_at = self._clock.monotonic()

    async def _wait_for_work(self) -> None:
        due = await self._parts.store.next_due()
        wait = POLL if due is None else (due - self._clock.now()).total_seconds()
        await unless(self._stopping, self._parts.ear.wait(min(max(wait, _SHORTEST_WAIT), POLL)))

    async def _renew_lease(self) -> None:
        try:
            await self._parts.lease.renew()
        except Unavailable:
            await self._pause(POLL)

    async def _pause(self, seconds: float) -> None:
        await unless(self._stopping, self._clock.sleep(seconds))
