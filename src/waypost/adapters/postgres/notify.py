"""The bell between processes: NOTIFY says only that there may be work. Losing one costs a poll interval, no row."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from waypost.adapters.postgres.connection import AWAY, Connection, connect
from waypost.adapters.postgres.queries import load
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured

CHANNEL: Final = "waypost_work"
_SQL: Final = load("notify")
_QUIET_SECONDS: Final = 0.05
_FAILURES: Final = (Misconfigured, *AWAY)
"""A database that is away: the poll finds the work once it is back."""


class Bell:
    """Rings at most once per 50 ms, on a connection of its own: NOTIFY takes a lock that all committing sessions share.

    `ring` is for `PgTransaction.after_commit`: it returns at once and never fails.
    """

    def __init__(self, dsn: str, clock: Clock) -> None:
        self._dsn = dsn
        self._clock = clock
        self._connection: Connection | None = None
        self._wanted = False
        self._ringer: asyncio.Task[None] | None = None

    def ring(self) -> None:
        self._wanted = True
        if self._ringer is None or self._ringer.done():
            self._ringer = asyncio.get_running_loop().create_task(self._ring_until_quiet())

    async def close(self) -> None:
        """Rings what is still owed, then hangs up."""
        if self._ringer is not None:
            self._ringer.cancel()
            with suppress(asyncio.CancelledError):
                await self._ringer
        if self._wanted:
            await self._ring_once()
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _ring_until_quiet(self) -> None:
        while self._wanted:
            await self._ring_once()
            await self._clock.sleep(_QUIET_SECONDS)

    async def _ring_once(self) -> None:
        self._wanted = False
        # A connection that stood idle may have died unseen: then once more, on a new one.
        if not await self._ring_on(self._connection):
            await self._ring_on(await self._connect())

    async def _ring_on(self, connection: Connection | None) -> bool:
        if connection is None or connection.is_closed():
            return False
        try:
            await connection.execute(_SQL["ring"])
        except _FAILURES:
            connection.terminate()
            return False
        return True

    async def _connect(self) -> Connection | None:
        try:
            self._connection = await connect(self._dsn, application_name="waypost bell")
        except _FAILURES:
            self._connection = None
        return self._connection


class Listener:
    """Hears the bell. A listening connection that dies says nothing, so every wait looks whether it still lives."""

    def __init__(self, dsn: str, clock: Clock, *, also: Callable[[], None] | None = None) -> None:
        """`also` is called with every ring, whether anybody waits or not."""
        self._dsn = dsn
        self._clock = clock
        self._also = also
        self._connection: Connection | None = None
        self._rung = asyncio.Event()
        self._missed = True

    async def wait(self, seconds: float) -> bool:
        """True as soon as the bell rings, False after so many seconds: look for work either way."""
        await self._listen()
        if not self._rung.is_set():
            await self._first_of(self._rung.wait, lambda: self._clock.sleep(seconds))
        woken = self._rung.is_set()
        self._rung.clear()
        return woken

    def take_missed(self) -> bool:
        """Whether the ear was closed since the last call (at start, after a lost connection): then sweep everything."""
        missed, self._missed = self._missed, False
        return missed

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _listen(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            return
        self._missed = True
        try:
            self._connection = await connect(self._dsn, application_name="waypost listener")
            self._connection.add_termination_listener(self._wake)
            await self._connection.add_listener(CHANNEL, self._wake)
        except _FAILURES:
            await self.close()

    def _wake(self, *_: object) -> None:
        self._rung.set()
        if self._also is not None:
            self._also()

    async def _first_of(self, *waits: Callable[[], Awaitable[object]]) -> None:
        tasks = [asyncio.ensure_future(wait()) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
