"""What pauses do to the queue, as chores of a worker: put rows aside, bring them back, end those that expire there."""

from typing import Protocol


class HoldStore(Protocol):
    async def put_lanes_right(self) -> int:
        """A lane that was made in the very moment of a pause; answers for how many tenants there were such."""
        ...

    async def step(self) -> bool:
        """One bounded step for each pause that has something to do; whether there is more."""
        ...

    async def end_expired(self) -> int:
        """Rows put aside whose time is over; and back into their lanes what nothing holds."""
        ...

    async def end_expired_in_stopped_lanes(self) -> int:
        """What no claim will find while its tenant or channel is paused; a bounded part of it each time."""
        ...


class Holding:
    def __init__(self, store: HoldStore) -> None:
        self._store = store

    async def work_off(self) -> None:
        await self._store.put_lanes_right()
        while await self._store.step():
            pass

    async def tidy(self) -> None:
        while await self._store.end_expired():
            pass
        await self._store.end_expired_in_stopped_lanes()
