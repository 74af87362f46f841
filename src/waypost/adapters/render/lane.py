"""A queue in front of a few render children: first come, first served, and no more waiting than is allowed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from waypost.adapters.render.equipment import Equipment
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.process import NotEquipped, RenderProcess
from waypost.kernel.errors import Unavailable

_T = TypeVar("_T")

_MOST_WAITING: Final = 512


class Lane:
    """Children leave when nobody has wanted them for `linger_seconds`, or twice as long at most. None: they stay."""

    def __init__(
        self,
        limits: RenderLimits,
        *,
        size: int,
        most_waiting_of_one: int,
        equipment: frozenset[Equipment] = frozenset(),
        linger_seconds: float | None,
    ) -> None:
        self._limits = limits
        self._equipment = equipment
        self._linger_seconds = linger_seconds
        self._most_waiting_of_one = most_waiting_of_one
        self._places = asyncio.Semaphore(size)
        self._waiting: Counter[str] = Counter()
        self._idle: list[RenderProcess] = []
        self._dismissal: asyncio.TimerHandle | None = None
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
        if self._dismissal is not None:
            self._dismissal.cancel()
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
            if child.worn or self._closed or (self._linger_seconds == 0 and not self._waiting):
                await child.close()
            else:
                self._idle.append(child)
                self._dismiss_later()
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

    def _dismiss_later(self) -> None:
        if self._dismissal is None and self._linger_seconds is not None:
            answers = {child: child.answers for child in self._idle}
            later = asyncio.get_running_loop().call_later
            self._dismissal = later(self._linger_seconds, self._dismiss, answers)

    def _dismiss(self, answers: Mapping[RenderProcess, int]) -> None:
        """Whoever has not been asked anything since may leave."""
        self._dismissal = None
        for child in [one for one in self._idle if answers.get(one) == one.answers]:
            self._idle.remove(child)
            errand = asyncio.create_task(child.close())
            self._errands.add(errand)
            errand.add_done_callback(self._forget)
        if self._idle:
            self._dismiss_later()

    def _forget(self, errand: asyncio.Task[Any]) -> None:
        self._errands.discard(errand)
        if not errand.cancelled():
            errand.exception()


async def _nothing(_child: RenderProcess) -> None:
    return None
