"""Keeps the process's clock on the database's time: leases and due times are judged there."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from waypost.adapters.postgres.connection import Pool
from waypost.adapters.postgres.time import database_time
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Unavailable

_EVERY_SECONDS: Final = 60.0


@asynccontextmanager
async def database_clock(pool: Pool) -> AsyncGenerator[SystemClock]:
    """A clock that is right now, and put right again every minute."""
    clock = SystemClock()
    clock.correct(await database_time(pool))

    async def follow() -> None:
        while True:
            await clock.sleep(_EVERY_SECONDS)
            try:
                clock.correct(await database_time(pool))
            except Unavailable:
                # A database that is away has no time to tell; the last correction holds until it is back.
                continue

    follower = asyncio.create_task(follow())
    try:
        yield clock
    finally:
        follower.cancel()
