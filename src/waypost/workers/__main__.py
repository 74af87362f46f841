"""`python -m waypost.workers`: what `waypost worker` becomes."""

import asyncio

from waypost.bootstrap.process import run
from waypost.settings import Settings


async def work(settings: Settings, stop: asyncio.Event) -> None:
    from waypost.workers.process import work_until_stopped

    await work_until_stopped(settings, stop)


if __name__ == "__main__":
    run("worker", work)
