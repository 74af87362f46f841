"""Writing down how a batch ended. Nothing is ever sent again because this failed.

While the database is away the outcomes stay in memory and are tried again; a settlement that the store refuses is
found by halving the batch and written in its plainest form.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import structlog
from msgspec import structs

from waypost.channels.model import Outcome
from waypost.delivery.model import Closed, Ended, Note, Settlement
from waypost.delivery.patience import unless
from waypost.delivery.ports import DispatchStore, SettleRefused
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable

_log: Final = structlog.stdlib.get_logger()
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0


class Settler:
    def __init__(self, *, store: DispatchStore, clock: Clock, worker_id: UUID) -> None:
        self._store = store
        self._clock = clock
        self._worker_id = worker_id
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Waits for an absent database no longer: the journal knows what could not be written."""
        self._leaving.set()

    async def settle(self, batch_id: UUID, settlements: Sequence[Settlement]) -> bool:
        """Returns when everything is written, however long that takes; False where something could not be at all."""
        return await self._settle(batch_id, settlements, whole=True)

    async def settle_some(self, batch_id: UUID, settlements: Sequence[Settlement]) -> bool:
        """The same for a part of a batch."""
        return await self._settle(batch_id, settlements, whole=False)

    async def _settle(self, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool) -> bool:
        try:
            await self._persist(batch_id, settlements, whole=whole)
        except SettleRefused:
            return await self._halve(batch_id, settlements)
        return True

    async def _halve(self, batch_id: UUID, settlements: Sequence[Settlement]) -> bool:
        if len(settlements) == 1:
            return await self._write_plainly(batch_id, settlements[0])
        middle = len(settlements) // 2
        all_written = True
        for half in (settlements[:middle], settlements[middle:]):
            try:
                await self._persist(batch_id, half, whole=False)
            except SettleRefused:
                all_written &= await self._halve(batch_id, half)
        return all_written

    async def _write_plainly(self, batch_id: UUID, settlement: Settlement) -> bool:
        held = settlement.held
        try:
            await self._persist(batch_id, [_plain(settlement)], whole=False)
        except SettleRefused:
            # Its attempt stays open under this worker: not sent again while it lives, settled by its journal after.
            _log.error("settlement refused", action="settle_refused", tenant=held.tenant_id, notification=str(held.id))
            return False
        _log.warning("settled plainly", action="settled_plainly", tenant=held.tenant_id, notification=str(held.id))
        return True

    async def _persist(self, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                lost = await self._store.settle(self._worker_id, batch_id, settlements, whole=whole)
            except Unavailable as error:
                if self._leaving.is_set():
                    raise
                _log.warning("settle waits", action="settle_waits", rows=len(settlements), cause=error.detail)
                await unless(self._leaving, self._clock.sleep(pause))
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if lost:
                _log.warning("no longer ours", action="settled_late", rows=len(lost), batch=str(batch_id))
            return


def _plain(settlement: Settlement) -> Settlement:
    """Without a word of anybody else's."""
    match settlement:
        case Closed(outcome=outcome):
            bare = Outcome(kind=outcome.kind, reason=outcome.reason)
            return structs.replace(settlement, outcome=bare, sealed_reply=None, bounced=None)
        case Ended():
            return replace(settlement, note=Note(event=settlement.note.event, reason=settlement.end.state.word))
        case _:
            return replace(settlement, note=None)
