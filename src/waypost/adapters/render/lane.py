"""A queue in front of a few render children: first come, first served, and no more waiting than is allowed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from waypost.adapters.render.equipment import Equipment
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.process import NotEquipped, RenderProcess
from waypost.kernel.errors import Unavailable

_T = TypeVar("_T")

_MOST_WAITING: Final = 512


class Lane:
    """`keep_idle` false: children leave when nobody has wanted them for a moment (`linger_seconds`)."""

    def __init__(
        self,
        limits: RenderLimits,
        *,
        size: int,
        keep_idle: bool,
        most_waiting_of_one: int,
        equipment: frozenset[Equipment] = frozenset(),
        linger_seconds: float = 0.0,
    ) -> None:
        self._limits = limits
        self._equipment = equipment
        self._linger_seconds = linger_seconds
        self._keep_idle = keep_idle
        self._most_waiting_of_one = most_waiting_of_one
        self._places = asyncio.Semaphore(size)
        self._waiting: Counter[str] = Counter()
        self._idle: list[RenderProcess] = []
        self._errands: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def use(self, who: str, work: Callable[[RenderProcess], Awaitable[_T]]) -> _T:
        """Runs `work` with a child. If the caller is cancelled meanwhile, the child still hears its answer out."""
        await self._queue(who)
        errand = asyncio.create_task(self._hold(work))
        self._errands.add(errand)
        errand.add_done_callback(self._forget)
        return await asyncio.shield(errand)

    async def warm(self) -> None:
        """Starts a child ahead of the first caller."""
        await self.use("", _nothing)

    async def close(self) -> None:
        self._closed = True
        if self._errands:
            await asyncio.wait(self._errands)
        while self._idle:
            await self._idle.pop().close()

    async def _queue(self, who: str) -> None:
        if self._closed:
            raise Unavailable("The renderer is shutting down.", code="renderer_unavailable")
        if self._waiting.total() >= _MOST_WAITING or self._waiting[who] >= self._most_waiting_of_one:
            raise Unavailable("The renderer is busy. Try again in a moment.", code="renderer_busy")
        self._waiting[who] += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who]

    async def _hold(self, work: Callable[[RenderProcess], Awaitable[_T]]) -> _T:
        try:
            child, result = await self._work_equipped(work)
            if child.worn or self._closed or not (self._keep_idle or self._waiting or self._linger_seconds):
                await child.close()
            else:
                self._idle.append(child)
                if not self._keep_idle:
                    self._dismiss_later(child)
            return result
        finally:
            self._places.release()

    async def _work_equipped(self, work: Callable[[RenderProcess], Awaitable[_T]]) -> tuple[RenderProcess, _T]:
        """Most content needs no large library, so children begin without; the first that does need one replaces its
        child by one that has it."""
        while True:
            child = await self._take_child()
            try:
                return child, await work(child)
            except NotEquipped as lack:
                if lack.what in child.equipment:
                    raise
                self._equipment |= {lack.what}
            except BaseException:
                child.abandon()
                raise

    async def _take_child(self) -> RenderProcess:
        while self._idle:
            child = self._idle.pop()
            if child.is_alive:
                return child
            await child.close()
        return await RenderProcess.start(self._limits, self._equipment)

    def _dismiss_later(self, child: RenderProcess) -> None:
        asyncio.get_running_loop().call_later(self._linger_seconds, self._dismiss, child, child.answers)

    def _dismiss(self, child: RenderProcess, answers: int) -> None:
        """Nobody has asked the child anything since."""
        if child in self._idle and child.answers == answers:
            self._idle.remove(child)
            errand = asyncio.create_task(child.close())
            self._errands.add(errand)
            errand.add_done_callback(self._forget)

    def _forget(self, errand: asyncio.Task[Any]) -> None:
        self._errands.discard(errand)
        if not errand.cancelled():
            errand.exception()


async def _nothing(_child: RenderProcess) -> None:
    return None
