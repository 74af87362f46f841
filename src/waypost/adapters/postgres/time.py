"""What time the database has."""

import asyncio
from datetime import datetime
from typing import Final

from waypost.adapters.postgres.connection import AWAY, Pool
from waypost.adapters.postgres.queries import load
from waypost.kernel.errors import Unavailable

_SQL: Final = load("time")
_PATIENCE_SECONDS: Final = 5.0


async def database_time(pool: Pool) -> datetime:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS), pool.acquire() as connection:
            return await connection.fetchval(_SQL["now"])
    except AWAY as error:
        raise Unavailable("The database did not answer.") from error
