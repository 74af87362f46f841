"""Batches that were claimed for a worker which never heard of it: the answer was lost with its connection.

They are open under a worker that lives, so nobody else may take them up: it gives them back itself.
"""

from collections.abc import Set
from typing import Final
from uuid import UUID

import structlog

from waypost.delivery.ports import WorkerStore
from waypost.delivery.rules import give_back
from waypost.delivery.settle import Settler
from waypost.kernel.clock import Clock

_log: Final = structlog.stdlib.get_logger()


class Strays:
    """`in_hand`: the batches that the worker asks for, carries, or could not settle. All others are strays."""

    def __init__(
        self, *, workers: WorkerStore, settler: Settler, clock: Clock, worker_id: UUID, in_hand: Set[UUID]
    ) -> None:
        self._workers = workers
        self._settler = settler
        self._clock = clock
        self._worker_id = worker_id
        self._in_hand = in_hand

    async def give_back(self) -> int:
        """Nothing of them was ever sent, so nothing is in doubt and nobody is to blame."""
        known = set(self._in_hand)
        returned = 0
        for hold in await self._workers.holds(self._worker_id):
            if hold.batch_id in known or hold.batch_id in self._in_hand:
                continue
            rows = await self._workers.open_attempts(self._worker_id, hold)
            settlements = [give_back(held, self._clock.now(), blamed=False) for held in rows]
            if settlements and not await self._settler.settle_some(hold.batch_id, settlements):
                continue
            await self._workers.let_go(self._worker_id, hold)
            returned += len(settlements)
            _log.warning("lost claim given back", action="stray_given_back", rows=len(settlements))
        return returned
