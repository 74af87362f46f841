"""What every worker knows of pauses: a small book, read again when the bell rings and at least once a second.

The claim does not see what a pause of a tenant or channel stops. The book catches what was claimed a moment before, and
what is held row by row: it is asked before a batch is composed and again before each message goes on the wire.
"""

import asyncio
from collections.abc import Collection, Generator, Sequence, Set
from contextlib import contextmanager
from enum import Enum
from typing import Final, Protocol
from uuid import UUID

from waypost.delivery.model import Claimed, Held
from waypost.delivery.patience import unless
from waypost.delivery.pause_model import PauseMark, PauseScope
from waypost.kernel.clock import Clock

LONGEST_UNREAD: Final = 1.0
_SHORTEST_UNREAD: Final = 0.2
_NOBODY: Final = frozenset[tuple[str, str]]()


class Stop(Enum):
    LANE = "lane"
    """The whole lane stands still: back to it."""
    ROW = "row"
    """The row is put aside until its pause ends."""
    ACCOUNT = "account"
    """The same, for the sender account that it was to leave by."""


class PauseBoard(Protocol):
    """Looks over all tenants. Raises `Unavailable` while the database is away."""

    async def in_force(self) -> Sequence[PauseMark]: ...

    async def held(self, tenant_id: str, ids: Sequence[UUID]) -> Set[UUID]:
        """Which of these rows belong to what is paused."""
        ...


class NothingPaused:
    """Implements `PauseBoard` where nobody can pause anything."""

    async def in_force(self) -> Sequence[PauseMark]:
        return ()

    async def held(self, tenant_id: str, ids: Sequence[UUID]) -> Set[UUID]:
        return frozenset()


class PauseBook:
    def __init__(self, *, board: PauseBoard, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._rung = asyncio.Event()
        self._marks = frozenset[PauseMark]()
        self._tenants = frozenset[str]()
        self._channels = _NOBODY
        self._categories = _NOBODY
        self._broadcasts = frozenset[str]()
        self._accounts = frozenset[UUID]()
        self._road: dict[UUID, Sequence[Claimed]] = {}
        self._held: set[UUID] = set()

    def ring(self) -> None:
        """Something may have changed."""
        self._rung.set()

    async def keep_fresh(self) -> None:
        """Until cancelled; raises where the database is away."""
        while True:
            await self.read()
            await self._clock.sleep(_SHORTEST_UNREAD)
            await unless(self._rung, self._clock.sleep(LONGEST_UNREAD - _SHORTEST_UNREAD))
            self._rung.clear()

    async def read(self) -> None:
        marks = frozenset(await self._board.in_force())
        if marks == self._marks:
            return
        self._marks = marks
        self._tenants = frozenset(mark.tenant_id for mark in marks if mark.scope is PauseScope.TENANT)
        self._channels = _pairs(marks, PauseScope.CHANNEL)
        self._categories = _pairs(marks, PauseScope.CATEGORY)
        self._broadcasts = frozenset(mark.tenant_id for mark in marks if mark.scope is PauseScope.BROADCAST)
        self._accounts = frozenset(UUID(hex=mark.subject) for mark in marks if mark.scope is PauseScope.ACCOUNT)
        self._held.clear()
        for claimed in list(self._road.values()):
            await self._look_up(claimed)

    @contextmanager
    def carrying(self, batch_id: UUID, claimed: Sequence[Claimed]) -> Generator[None]:
        """While a batch is on the road, a pause of its broadcast is looked up for it too."""
        self._road[batch_id] = claimed
        try:
            yield
        finally:
            del self._road[batch_id]
            if self._held:
                self._held.difference_update(one.id for one in claimed)

    async def look_at(self, claimed: Sequence[Claimed]) -> None:
        """Makes sure about a fresh claim. What the claim let through and the book does not: is the book too old?"""
        if not self._marks:
            return
        await self._look_up(claimed)
        if any(self.stop_of(one) is not None for one in claimed):
            await self.read()

    def stop_of(self, held: Held) -> Stop | None:
        if not self._marks:
            return None
        if held.tenant_id in self._tenants or (held.tenant_id, str(int(held.channel))) in self._channels:
            return Stop.LANE
        if held.id in self._held or (held.tenant_id, str(int(held.category))) in self._categories:
            return Stop.ROW
        if held.way is not None and held.way.account_id in self._accounts:
            return Stop.ACCOUNT
        return None

    def is_paused(self, account_id: UUID) -> bool:
        return account_id in self._accounts

    async def _look_up(self, claimed: Sequence[Claimed]) -> None:
        for tenant_id in self._broadcasts & {one.tenant_id for one in claimed}:
            ids = sorted(one.id for one in claimed if one.tenant_id == tenant_id)
            self._held |= await self._board.held(tenant_id, ids)


def _pairs(marks: Collection[PauseMark], scope: PauseScope) -> frozenset[tuple[str, str]]:
    return frozenset((mark.tenant_id, mark.subject) for mark in marks if mark.scope is scope)
