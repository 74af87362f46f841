"""Tells streams in all processes what to look at, by NOTIFY: ids only, at most once in 50 ms and process.

A telling that is lost costs nothing but time: every stream looks again by itself now and then, and finds everything by
the numbers of changes.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import AWAY, Connection, connect
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgTransaction
from waypost.inbox.ports import Ringing
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured
from waypost.kernel.work import Transaction

CHANNEL: Final = "waypost_inbox"
_SQL: Final = load("inbox_bell")
_QUIET_SECONDS: Final = 0.05
_LONGEST: Final = 7_900
"""Bytes of one NOTIFY; what does not fit goes with the next."""
_MOST_PEOPLE: Final = 200
"""Of one inbox at once; beyond, everyone who is connected to it looks."""
_FAILURES: Final = (Misconfigured, *AWAY)
_LOOK_SECONDS: Final = 5.0


class PgInboxBell:
    """Implements `inbox.ports.InboxBell`. `close` rings what is still owed."""

    def __init__(self, dsn: str, clock: Clock) -> None:
        self._dsn = dsn
        self._clock = clock
        self._connection: Connection | None = None
        self._owed: dict[str, None] = {}
        self._ringer: asyncio.Task[None] | None = None

    def for_everyone(self, tx: Transaction, inbox_id: UUID) -> None:
        self._after(tx, [f"i{inbox_id.hex}"])

    def for_people(self, tx: Transaction, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> None:
        self._after(tx, _people(inbox_id, recipient_ids))

    def about_person(self, tx: Transaction, recipient_id: UUID) -> None:
        self._after(tx, [f"r{recipient_id.hex}"])

    def owe_people(self, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> None:
        """For what has been committed already."""
        self.owe(_people(inbox_id, recipient_ids))

    def owe(self, words: Sequence[str]) -> None:
        """Returns at once and never fails."""
        self._owed |= dict.fromkeys(words)
        if self._ringer is None or self._ringer.done():
            self._ringer = asyncio.get_running_loop().create_task(self._ring_until_quiet())

    async def close(self) -> None:
        if self._ringer is not None:
            self._ringer.cancel()
            with suppress(asyncio.CancelledError):
                await self._ringer
        while self._owed:
            await self._ring_once()
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def _after(self, tx: Transaction, words: Sequence[str]) -> None:
        if isinstance(tx, PgTransaction):
            tx.after_commit(lambda: self.owe(words))

    async def _ring_until_quiet(self) -> None:
        while self._owed:
            await self._ring_once()
            await self._clock.sleep(_QUIET_SECONDS)

    async def _ring_once(self) -> None:
        text = self._take()
        if not await self._ring_on(self._connection, text):
            await self._ring_on(await self._connect(), text)

    def _take(self) -> str:
        words: list[str] = []
        size = 0
        for word in list(self._owed):
            size += len(word) + 1
            if size > _LONGEST:
                break
            words.append(word)
            del self._owed[word]
        return ",".join(words)

    async def _ring_on(self, connection: Connection | None, text: str) -> bool:
        if connection is None or connection.is_closed():
            return False
        try:
            await connection.execute(_SQL["ring"], text)
        except _FAILURES:
            connection.terminate()
            return False
        return True

    async def _connect(self) -> Connection | None:
        try:
            self._connection = await connect(self._dsn, application_name="waypost inbox bell")
        except _FAILURES:
            self._connection = None
        return self._connection


def _people(inbox_id: UUID, recipient_ids: Sequence[UUID]) -> list[str]:
    if len(recipient_ids) > _MOST_PEOPLE:
        return [f"a{inbox_id.hex}"]
    return [f"p{inbox_id.hex}{one.hex}" for one in recipient_ids]


class PgInboxEar:
    """Hears what other processes ring. A listening connection that dies says nothing, so it is looked at."""

    def __init__(self, dsn: str, clock: Clock) -> None:
        self._dsn = dsn
        self._clock = clock

    async def listen(self, heard: Callable[[Ringing], None]) -> None:
        """Until cancelled. `Ringing()` says that anything may have been missed."""
        while True:
            connection = await self._open(heard)
            try:
                heard(Ringing(is_gap=True))
                while connection is not None and not connection.is_closed():
                    await self._clock.sleep(_LOOK_SECONDS)
            finally:
                if connection is not None:
                    connection.terminate()
            await self._clock.sleep(1.0)

    async def _open(self, heard: Callable[[Ringing], None]) -> Connection | None:
        def hear(_connection: object, _pid: int, _channel: str, text: str) -> None:
            for ringing in read_ringings(text):
                heard(ringing)

        connection: Connection | None = None
        try:
            connection = await connect(self._dsn, application_name="waypost inbox ear")
            await connection.add_listener(CHANNEL, hear)
        except _FAILURES:
            if connection is not None:
                connection.terminate()
            return None
        return connection


def read_ringings(text: str) -> list[Ringing]:
    """Whatever cannot be read was rung by a newer process: better look at everything."""
    found: list[Ringing] = []
    for word in text.split(","):
        kind, ids = word[:1], word[1:]
        try:
            match kind, len(ids):
                case "i", 32:
                    found.append(Ringing(inbox_id=UUID(ids), is_public=True))
                case "a", 32:
                    found.append(Ringing(inbox_id=UUID(ids)))
                case "p", 64:
                    found.append(Ringing(inbox_id=UUID(ids[:32]), recipient_id=UUID(ids[32:])))
                case "r", 32:
                    found.append(Ringing(recipient_id=UUID(ids)))
                case _:
                    found.append(Ringing(is_gap=True))
        except ValueError:
            found.append(Ringing(is_gap=True))
    return found
