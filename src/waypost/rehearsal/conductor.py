"""Moves the time on whenever nothing is left to do at this moment: to the next message that is due, or to the next
thing that comes back."""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from waypost.kernel.clock import VirtualClock
from waypost.rehearsal.ports import TakeBack, TellTime
from waypost.rehearsal.world import World

_LEAST_STEP: Final = timedelta(milliseconds=25)


class Conductor:
    """Implements `ports.Timekeeper` and, for the dispatcher, `delivery.ports.Ear`."""

    def __init__(self, *, clock: VirtualClock, world: World, database: TellTime, horizon: timedelta) -> None:
        self._clock = clock
        self._world = world
        self._database = database
        self._until = clock.now() + horizon
        self._due: datetime | None = None
        self._take_back: TakeBack | None = None
        self.finished = asyncio.Event()
        self.last_done = clock.now()
        """When a batch was last settled."""

    def hand_returns_to(self, take_back: TakeBack) -> None:
        self._take_back = take_back

    async def batch_done(self) -> None:
        spent = self._world.spent()
        if spent:
            await self._move_to(self._clock.now() + timedelta(seconds=spent))
        self.last_done = self._clock.now()

    def work_is_due(self, moment: datetime | None) -> None:
        self._due = moment

    async def wait(self, seconds: float) -> bool:
        """The dispatcher has nothing to do now, and will not have before the moment it was told last."""
        await self._look_what_came_back()
        coming = [moment for moment in (self._due, self._world.next_return) if moment is not None]
        if not coming or min(coming) > self._until:
            self.finished.set()
            await asyncio.Event().wait()
        await self._move_to(max(min(coming), self._clock.now() + _LEAST_STEP))
        await self._look_what_came_back()
        return True

    async def _look_what_came_back(self) -> None:
        back = self._world.returned()
        if back and self._take_back is not None:
            await self._take_back(back)

    async def _move_to(self, moment: datetime) -> None:
        await self._clock.advance((moment - self._clock.now()).total_seconds())
        await self._database.tell(self._clock.now())
