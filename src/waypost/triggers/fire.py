"""Firing due timers: tenant by tenant in turn, each with a bounded share, so that nobody's flood is another's delay.

A timer is locked, submitted and put down in one transaction: killed at any moment, it either has fired or still waits.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from waypost.kernel.backoff import Random, delay
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable
from waypost.kernel.work import Transaction, Work
from waypost.triggers.model import Reason, Timer, TimerKind, TimerState
from waypost.triggers.ports import DueTenants, TimerStore, TriggerTelemetry
from waypost.triggers.submit_due import SubmitDue

_log: Final = structlog.stdlib.get_logger()
SHARE: Final = 100
"""Timers of one tenant in one turn."""
_TENANTS: Final = 1_000
_AT_ONCE: Final = 2
_MOST_TRIES: Final = 10
_PAUSES: Final = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))


class Firing:
    def __init__(
        self,
        *,
        work: Work,
        tenants: DueTenants,
        timers: TimerStore,
        submit_due: SubmitDue,
        telemetry: TriggerTelemetry,
        clock: Clock,
        random: Random,
    ) -> None:
        self._work = work
        self._tenants = tenants
        self._timers = timers
        self._submit_due = submit_due
        self._telemetry = telemetry
        self._clock = clock
        self._random = random
        self._last = ""

    async def tick(self) -> int:
        """Fires what is due until nothing is left, or others hold it; answers how many."""
        begun, fired = self._clock.monotonic(), 0
        while True:
            turn = await self._tenants.due_tenants(self._clock.now(), self._last, _TENANTS)
            if not turn and self._last:
                self._last = ""
                continue
            served = await self._serve(turn)
            fired += served
            self._last = turn[-1] if len(turn) == _TENANTS else ""
            if not served:
                break
        if fired:
            self._telemetry.ticked(self._clock.monotonic() - begun)
        return fired

    async def _serve(self, tenants: Sequence[str]) -> int:
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(tenant_id: str) -> int:
            async with room:
                return await self.fire(tenant_id)

        results = await asyncio.gather(*(one(tenant_id) for tenant_id in tenants), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return sum(result for result in results if isinstance(result, int))

    async def fire(self, tenant_id: str) -> int:
        """One share of one tenant. Where the batch breaks, its timers are tried one by one: one culprit, not all."""
        try:
            async with self._work.begin(tenant_id) as tx:
                due = _bounded(await self._timers.claim(tx, self._clock.now(), SHARE))
                done = await self._submit_due(tx, due)
                await self._timers.put(tx, done.ends)
            if done.to_collect:
                async with self._work.begin(tenant_id) as tx:
                    ends = await self._submit_due.collect(tx, await self._timers.claim_some(tx, done.to_collect))
                    await self._timers.put(tx, ends)
                self._tell(ends)
        except Unavailable:
            raise
        except Exception as error:
            _log.error("timers failed", action="timers_failed", tenant=tenant_id, kind=type(error).__name__)
            return await self._fire_alone(tenant_id)
        self._tell(done.ends)
        return len(done.ends) + len(done.to_collect)

    async def _fire_alone(self, tenant_id: str) -> int:
        async with self._work.begin(tenant_id) as tx:
            due = [timer.id for timer in await self._timers.claim(tx, self._clock.now(), SHARE)]
        done = 0
        for timer_id in due:
            try:
                async with self._work.begin(tenant_id) as tx:
                    done += await self._one(tx, timer_id)
            except Unavailable:
                raise
            except Exception as error:
                async with self._work.begin(tenant_id) as tx:
                    done += await self._postpone(tx, timer_id, error)
        return done

    async def _one(self, tx: Transaction, timer_id: UUID) -> int:
        timers = await self._timers.claim_some(tx, [timer_id])
        done = await self._submit_due(tx, timers)
        ends = await self._submit_due.collect(tx, timers) if done.to_collect else done.ends
        await self._timers.put(tx, ends)
        self._tell(ends)
        return len(ends)

    async def _postpone(self, tx: Transaction, timer_id: UUID, error: Exception) -> int:
        held = await self._timers.claim_some(tx, [timer_id])
        if not held:
            return 0
        timer = held[0]
        now, tries = self._clock.now(), timer.tries + 1
        _log.error("timer failed", action="timer_failed", tenant=tx.tenant_id, tries=tries, kind=type(error).__name__)
        if tries >= _MOST_TRIES:
            end = replace(timer, state=TimerState.SKIPPED, reason=Reason.FAILED.value, tries=tries, ended_at=now)
        else:
            end = replace(timer, due=now + delay(tries, self._random, _PAUSES), tries=tries)
        await self._timers.put(tx, [end])
        self._tell([end])
        return 1

    def _tell(self, ends: Sequence[Timer]) -> None:
        counts: dict[tuple[str, str], int] = {}
        for one in ends:
            key = (one.word, one.reason or "")
            counts[key] = counts.get(key, 0) + 1
        for (word, reason), count in counts.items():
            self._telemetry.fired(word, reason, count)


def _bounded(due: Sequence[Timer]) -> Sequence[Timer]:
    """At most one whose recipients are yet to be found: each may mean ten thousand messages."""
    many = [timer.id for timer in due if timer.kind is TimerKind.TRIGGER and timer.recipient_id is None]
    return [timer for timer in due if timer.id not in many[1:]]
