"""Events on their way into the store: whoever brings one hears once it is kept. Many share one transaction.

While one transaction of a tenant runs, whatever else comes for that tenant waits and goes together in the next: a
single event waits for nothing but its own commit, and ten thousand cost little more than one each.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.work import Work
from waypost.tracking.model import Kind, Seen
from waypost.tracking.ports import TrackingStore, TrackingTelemetry

_MOST_TOGETHER: Final = 1_000
_MOST_WAITING: Final = 20_000
_AT_ONCE: Final = 2
"""Connections that this takes from others at most."""
_MOST_OF_ONE: Final = 100
"""Events of one link of one message in an hour: no token is a way to fill a disk."""
_WHILE_SECONDS: Final = 3_600.0
_MOST_COUNTED: Final = 50_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    seen: Seen
    kept: asyncio.Future[bool]


class Recorder:
    def __init__(self, *, work: Work, store: TrackingStore, telemetry: TrackingTelemetry, clock: Clock) -> None:
        self._work = work
        self._store = store
        self._telemetry = telemetry
        self._often = _Often(clock)
        self._waiting: dict[str, list[_Waiting]] = {}
        self._count = 0
        self._writers: dict[str, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def keep(self, tenant_id: str, seen: Seen) -> bool:
        """True once the event is committed, or was nothing to keep; False where it could not be kept."""
        if not self._often.allows((seen.notification_id, seen.kind, seen.link)):
            self._telemetry.seen(seen.kind.word, "repeated")
            return True
        if self._count >= _MOST_WAITING:
            self._telemetry.seen(seen.kind.word, "lost")
            return False
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant_id, []).append(_Waiting(seen, kept))
        self._count += 1
        if tenant_id not in self._writers:
            self._writers[tenant_id] = asyncio.create_task(self._write(tenant_id))
        return await kept

    async def close(self) -> None:
        """Waits for what is on its way."""
        while self._writers:
            await asyncio.wait(self._writers.values())

    async def _write(self, tenant_id: str) -> None:
        try:
            while waiting := self._waiting.get(tenant_id):
                async with self._places:
                    together = waiting[:_MOST_TOGETHER]
                    del waiting[:_MOST_TOGETHER]
                    self._count -= len(together)
                    await self._commit(tenant_id, together)
        finally:
            self._writers.pop(tenant_id, None)
            for one in self._waiting.pop(tenant_id, ()):
                self._count -= 1
                _tell(one, kept=False)

    async def _commit(self, tenant_id: str, together: list[_Waiting]) -> None:
        kept = False
        try:
            async with self._work.begin(tenant_id) as tx:
                stored = await self._store.add(tx, [one.seen for one in together])
            kept = True
            self._count_up((one.seen.kind, "recorded" if one.seen.id in stored else "left_out") for one in together)
        except Exception:
            # Whoever reads a mail gets their picture and their page all the same; that the event is lost is counted.
            self._count_up((one.seen.kind, "lost") for one in together)
        finally:
            for one in together:
                _tell(one, kept=kept)

    def _count_up(self, results: Iterable[tuple[Kind, str]]) -> None:
        for (kind, result), times in Counter(results).items():
            self._telemetry.seen(kind.word, result, times)


def _tell(one: _Waiting, *, kept: bool) -> None:
    if not one.kept.done():
        one.kept.set_result(kept)


class _Often:
    """How often each link was followed lately, in bounded memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: OrderedDict[tuple[UUID, Kind, int], tuple[float, int]] = OrderedDict()

    def allows(self, what: tuple[UUID, Kind, int]) -> bool:
        now = self._clock.monotonic()
        ends, count = self._counts.pop(what, (now + _WHILE_SECONDS, 0))
        if now >= ends:
            ends, count = now + _WHILE_SECONDS, 0
        self._counts[what] = (ends, min(count + 1, _MOST_OF_ONE + 1))
        if len(self._counts) > _MOST_COUNTED:
            self._counts.popitem(last=False)
        return count < _MOST_OF_ONE
