"""A worker's sign of life: one heartbeat for all that it holds, judged by the database's clock."""

from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from waypost.delivery.ports import WorkerStore
from waypost.kernel.clock import Clock

_log: Final = structlog.stdlib.get_logger()
_BEATS_PER_LEASE: Final = 6
_SAFE_SHARE: Final = 2 / 3


class Lease:
    """`tell_time` is given the database's time with every beat, so that the worker's clock follows it."""

    def __init__(
        self,
        *,
        store: WorkerStore,
        clock: Clock,
        worker_id: UUID,
        seconds: float,
        tell_time: Callable[[datetime], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._worker_id = worker_id
        self._tell_time = tell_time
        self.seconds = seconds
        self.term = 0
        """Rises whenever the lease may have run out: what was claimed in an earlier term may be somebody else's."""
        self._renewed_at: float | None = None
        self._begin_until = float("-inf")
        self._steady_since = clock.monotonic()

    @property
    def may_start_sending(self) -> bool:
        """While most of the lease is left: what is begun now can end before others take it up."""
        return self._renewed_at is not None and self._age() < self.seconds * _SAFE_SHARE

    def may_begin(self, term: int) -> bool:
        """The same, for what was claimed in that term. Asked for every message, so it does nothing twice."""
        return self.term == term and self._clock.monotonic() < self._begin_until

    @property
    def may_judge_others(self) -> bool:
        """Only who has had an uninterrupted view for a whole lease: after a silence of the database itself, every lease
        has run out, and the living must first be given the time to renew theirs."""
        return self.may_start_sending and self._clock.monotonic() - self._steady_since > self.seconds

    async def renew(self) -> None:
        """Counted from before the question: the database's lease never ends earlier than we believe."""
        if self._renewed_at is None or self._age() >= self.seconds * _SAFE_SHARE:
            self.term += 1
            self._steady_since = self._clock.monotonic()
        asked = self._clock.monotonic()
        self._tell_time(await self._store.renew(self._worker_id, self.seconds))
        self._renewed_at = asked
        self._begin_until = asked + self.seconds * _SAFE_SHARE

    async def keep(self) -> None:
        """Beats until cancelled."""
        while True:
            try:
                await self.renew()
            except Exception as error:
                _log.warning("heartbeat failed", action="heartbeat_failed", kind=type(error).__name__)
            await self._clock.sleep(self.seconds / _BEATS_PER_LEASE)

    async def end(self) -> bool:
        """False where the database says that the worker still holds something."""
        return await self._store.sign_off(self._worker_id)

    def _age(self) -> float:
        return self._clock.monotonic() - (self._renewed_at or 0.0)
