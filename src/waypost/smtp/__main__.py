"""`python -m waypost.smtp`: what `waypost smtp` becomes."""

import asyncio

from waypost.bootstrap.process import run
from waypost.settings import Settings


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    from waypost.smtp.process import serve_until_stopped

    await serve_until_stopped(settings, stop)


if __name__ == "__main__":
    run("smtp", serve)
