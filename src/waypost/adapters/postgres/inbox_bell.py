"""Words between the streams of all processes, by NOTIFY: every process hears all of them."""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import AWAY, Connection, connect
from waypost.adapters.postgres.queries import load
from waypost.inbox.bell import Word
from waypost.inbox.ports import Ringing
from waypost.inbox.words import read_ringings
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured

CHANNEL: Final = "waypost_inbox"
_SQL: Final = load("inbox_bell")
_LONGEST: Final = 7_900
"""Bytes of one NOTIFY; what does not fit goes with the next."""
_FAILURES: Final = (Misconfigured, *AWAY)
_LOOK_SECONDS: Final = 5.0


class PgInboxRinger:
    """Implements `inbox.bell.Ringer`."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: Connection | None = None

    async def ring(self, owed: Sequence[Word]) -> int:
        taken = _that_fit(owed)
        text = ",".join(word.text for word in taken)
        if not await self._ring_on(self._connection, text):
            await self._ring_on(await self._connect(), text)
        return len(taken)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

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


def _that_fit(owed: Sequence[Word]) -> Sequence[Word]:
    size = 0
    for place, word in enumerate(owed):
        size += len(word.text) + 1
        if size > _LONGEST:
            return owed[:place]
    return owed


class PgInboxEar:
    """Implements `inbox.ports.InboxEar`. A listening connection that dies says nothing, so it is looked at."""

    def __init__(self, dsn: str, clock: Clock) -> None:
        self._dsn = dsn
        self._clock = clock

    def arrived(self, tenant_id: str, recipient_id: UUID) -> None:
        """Everything is rung everywhere."""

    def left(self, tenant_id: str, recipient_id: UUID) -> None:
        """Nothing was noted when they came."""

    async def listen(self, heard: Callable[[Ringing], None]) -> None:
        """Until cancelled. A gap says that anything may have been missed."""
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
