"""A connection of a worker's own: no pool's reset between two calls, and opened again when it is lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from waypost.adapters.postgres.arrays import WholeArrays
from waypost.adapters.postgres.connection import AWAY, Connection, connect, is_busy, is_lost
from waypost.adapters.postgres.pool import PoolOptions, server_settings
from waypost.kernel.errors import Misconfigured, Unavailable

_SILENCE: Final = 10.0
"""How many seconds beyond its own time-out a server may keep silent before the connection counts as dead."""


class Line:
    """One user at a time. Every failure of the database or of the way to it is `Unavailable`."""

    def __init__(self, dsn: str, options: PoolOptions) -> None:
        self._dsn = dsn
        self._options = options
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None
        self._major: int | None = None

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Connection]:
        async with self._turn:
            connection = await self._open()
            try:
                async with asyncio.timeout(self._options.statement_timeout + _SILENCE):
                    yield connection
            except BaseException as error:
                if is_lost(error, connection) or isinstance(error, TimeoutError):
                    connection.terminate()
                    raise Unavailable("The connection to the database was lost.") from error
                if is_busy(error):
                    raise Unavailable("The database is busy.") from error
                raise

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _open(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            try:
                if self._major is None:
                    probe = await connect(self._dsn, application_name=self._options.application_name)
                    self._major = probe.get_server_version().major
                    await probe.close()
                self._connection = await connect(
                    self._dsn,
                    application_name=self._options.application_name,
                    settings=server_settings(self._options, self._major),
                    kind=WholeArrays,
                )
            except (Misconfigured, *AWAY) as error:
                raise Unavailable("The database is unreachable.") from error
        return self._connection
