"""Time is injected: production reads the database's clock, tests turn the hands themselves."""

import asyncio
import heapq
import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The moment, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, for measuring."""
        ...

    async def sleep(self, seconds: float) -> None: ...


_TICKS: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts on while the host sleeps, where the host can: a lease that ran out meanwhile must be seen to have."""


class SystemClock:
    """Set by what the database says (`correct`), because the database judges leases. In between it counts the host's
    ticks and does not ask for its time, so a host whose clock is put back or forth changes nothing."""

    def __init__(self) -> None:
        self.correct(datetime.now(UTC))

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._ahead + time.clock_gettime(_TICKS), UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_TICKS)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def correct(self, database_now: datetime) -> None:
        self._ahead = database_now.timestamp() - self.monotonic()


class VirtualClock:
    """A clock that moves only when told to. Sleepers wake in order of their time as it advances."""

    def __init__(self, start: datetime = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)) -> None:
        self._now = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._arrivals = 0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        wake = asyncio.Event()
        self._arrivals += 1
        heapq.heappush(self._sleepers, (self._elapsed + seconds, self._arrivals, wake))
        await wake.wait()

    async def advance(self, seconds: float) -> None:
        goal = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= goal:
            moment, _, wake = heapq.heappop(self._sleepers)
            self._move_to(moment)
            wake.set()
            await self._let_others_run()
        self._move_to(goal)
        await self._let_others_run()

    def _move_to(self, elapsed: float) -> None:
        self._now += timedelta(seconds=elapsed - self._elapsed)
        self._elapsed = elapsed

    async def _let_others_run(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
