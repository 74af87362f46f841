"""Tells streams in all processes what to look at: ids only, at most once in 50 ms and process.

A telling that is lost costs nothing but time: every stream looks again by itself now and then, and finds everything by
the numbers of changes.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from waypost.inbox import words
from waypost.kernel.clock import Clock
from waypost.kernel.work import Transaction

_QUIET_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    tenant_id: str
    recipient_id: UUID | None = None
    """Whom alone it concerns; None: whoever is connected."""


class Ringer(Protocol):
    """How words reach other processes."""

    async def ring(self, owed: Sequence[Word]) -> int:
        """As many as fit at once, at least one: says how many of the first are done with. Never fails."""
        ...

    async def close(self) -> None: ...


class GatheringBell:
    """Implements `inbox.ports.InboxBell`. `close` rings what is still owed."""

    def __init__(self, ringer: Ringer, clock: Clock) -> None:
        self._ringer = ringer
        self._clock = clock
        self._owed: dict[Word, None] = {}
        self._ringing: asyncio.Task[None] | None = None

    def for_everyone(self, tx: Transaction, inbox_id: UUID) -> None:
        self._after(tx, [Word(words.for_everyone(inbox_id), tx.tenant_id)])

    def for_people(self, tx: Transaction, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> None:
        self._after(tx, _people(tx.tenant_id, inbox_id, recipient_ids))

    def about_person(self, tx: Transaction, recipient_id: UUID) -> None:
        self._after(tx, [Word(words.about_person(recipient_id), tx.tenant_id, recipient_id)])

    def owe_people(self, tenant_id: str, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> None:
        """For what has been committed already."""
        self.owe(_people(tenant_id, inbox_id, recipient_ids))

    def owe(self, said: Sequence[Word]) -> None:
        """Returns at once and never fails."""
        self._owed |= dict.fromkeys(said)
        if self._ringing is None or self._ringing.done():
            self._ringing = asyncio.get_running_loop().create_task(self._ring_until_quiet())

    async def close(self) -> None:
        if self._ringing is not None:
            self._ringing.cancel()
            with suppress(asyncio.CancelledError):
                await self._ringing
        while self._owed:
            await self._ring_once()
        await self._ringer.close()

    def _after(self, tx: Transaction, said: Sequence[Word]) -> None:
        tx.after_commit(lambda: self.owe(said))

    async def _ring_until_quiet(self) -> None:
        while self._owed:
            await self._ring_once()
            await self._clock.sleep(_QUIET_SECONDS)

    async def _ring_once(self) -> None:
        owed = list(self._owed)
        self._owed.clear()
        done = await self._ringer.ring(owed)
        # What did not fit goes first next time.
        self._owed = dict.fromkeys(owed[done:]) | self._owed


def _people(tenant_id: str, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> list[Word]:
    if len(recipient_ids) > words.MOST_PEOPLE:
        return [Word(words.for_all_connected(inbox_id), tenant_id)]
    return [Word(words.for_person(inbox_id, one), tenant_id, one) for one in recipient_ids]
