"""What time does to inboxes: what has expired goes, what was snoozed comes back. Late or twice, nothing drifts:
feeds and counts have left out what is over since the moment it was."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

from waypost.inbox.ports import InboxBell, SweepStore
from waypost.inbox.rules import LONGEST_TTL
from waypost.kernel.clock import Clock
from waypost.kernel.work import Transaction, Work

_ROWS_AT_ONCE: Final = 2_000
_MOST_ROUNDS: Final = 50
"""For one tenant in one go, so that the others get their turn."""


class Sweep:
    def __init__(self, *, work: Work, store: SweepStore, bell: InboxBell, clock: Clock) -> None:
        self._work = work
        self._store = store
        self._bell = bell
        self._clock = clock

    async def __call__(self) -> int:
        """One go over all tenants; says how much was done. Each batch is a transaction of its own."""
        done = 0
        for tenant_id in await self._store.tenants(self._clock.now()):
            for step in (self._wake, self._posts, self._items, self._watermarks):
                done += await self._repeat(tenant_id, step)
        return done

    async def _repeat(self, tenant_id: str, step: Callable[[Transaction], Awaitable[int]]) -> int:
        done = 0
        for _ in range(_MOST_ROUNDS):
            async with self._work.begin(tenant_id) as tx:
                batch = await step(tx)
            done += batch
            if not batch:
                break
        return done

    async def _wake(self, tx: Transaction) -> int:
        return self._tell(tx, await self._store.wake(tx, self._clock.now(), _ROWS_AT_ONCE))

    async def _posts(self, tx: Transaction) -> int:
        lost = await self._store.posts(tx, self._clock.now(), _ROWS_AT_ONCE)
        for inbox_id in lost:
            self._bell.for_everyone(tx, inbox_id)
        return len(lost)

    async def _items(self, tx: Transaction) -> int:
        return self._tell(tx, await self._store.items(tx, self._clock.now(), _ROWS_AT_ONCE))

    def _tell(self, tx: Transaction, places: Sequence[tuple[UUID, UUID]]) -> int:
        people: dict[UUID, set[UUID]] = {}
        for inbox_id, recipient_id in places:
            people.setdefault(inbox_id, set()).add(recipient_id)
        for inbox_id, recipients in people.items():
            self._bell.for_people(tx, inbox_id, sorted(recipients))
        return len(places)

    async def _watermarks(self, tx: Transaction) -> int:
        return await self._store.watermarks(tx, self._clock.now() - LONGEST_TTL, _ROWS_AT_ONCE)
