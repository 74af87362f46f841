"""A worker's life: sign on, take up what the dead left, carry batches, and leave nothing behind."""

import asyncio
from contextlib import suppress
from typing import Final, Protocol

import structlog

from waypost.delivery.dispatch import Dispatcher
from waypost.delivery.lease import Lease
from waypost.delivery.upkeep import Upkeep
from waypost.kernel.errors import Unavailable

_log: Final = structlog.stdlib.get_logger()


class OwnJournal(Protocol):
    def close(self, *, discard: bool) -> None:
        """`discard`: everything is settled, nothing is left to tell."""
        ...


class Worker:
    def __init__(self, *, dispatcher: Dispatcher, lease: Lease, upkeep: Upkeep, journal: OwnJournal) -> None:
        self._dispatcher = dispatcher
        self._lease = lease
        self._upkeep = upkeep
        self._journal = journal

    async def run(self) -> None:
        """Returns after `stop`, once everything that was begun is settled."""
        await self._lease.renew()
        beating = asyncio.create_task(self._lease.keep())
        keeping = asyncio.create_task(self._upkeep.keep())
        try:
            await self._dispatcher.run()
        finally:
            for task in (keeping, beating):
                task.cancel()
            await asyncio.gather(keeping, beating, return_exceptions=True)
        await self._sign_off()

    async def stop(self, grace_seconds: float) -> None:
        """Claims no more and gives vendors so long to answer what is on the wire."""
        _log.info("worker stops", action="worker_stops")
        await self._dispatcher.stop(grace_seconds)

    async def _sign_off(self) -> None:
        signed_off = False
        with suppress(Unavailable):
            signed_off = await self._lease.end()
        # A claim whose answer was lost is known only to the database: the journal proves that nothing of it was sent.
        self._journal.close(discard=signed_off)
        _log.info("worker stopped", action="worker_stopped")
