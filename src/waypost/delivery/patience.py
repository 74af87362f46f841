"""Waiting for one thing or another."""

import asyncio
from collections.abc import Awaitable


async def unless(event: asyncio.Event, waiting: Awaitable[object]) -> None:
    """Waits, but no longer than until the event is set."""
    wait, stop = asyncio.ensure_future(waiting), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({wait, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        wait.cancel()
        stop.cancel()
        await asyncio.gather(wait, stop, return_exceptions=True)
