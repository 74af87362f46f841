"""Whether this process can serve: the database answers and its schema fits this code."""

from typing import Final

from waypost.adapters.postgres.connection import AWAY, Pool
from waypost.adapters.postgres.migrate import check_schema, code_version
from waypost.kernel.errors import Unavailable

_PATIENCE_SECONDS: Final = 2.0


class Readiness:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._code = code_version()

    async def check(self) -> None:
        """Raises `Unavailable` or `Misconfigured`."""
        try:
            async with self._pool.acquire(timeout=_PATIENCE_SECONDS) as connection:
                await check_schema(connection, self._code)
        except AWAY as error:
            raise Unavailable("The database does not answer.", code="not_ready") from error
