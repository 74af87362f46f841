"""What every process of ours has in common: settings, logs, an event loop, and an orderly end."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable

from waypost.kernel.errors import WaypostError
from waypost.settings import Settings, load

SUPERVISED = "--supervised"
"""Given by a supervisor: standard input stays open as long as it lives, so its end is ours too."""


def run(name: str, main: Callable[[Settings, asyncio.Event], Awaitable[None]]) -> None:
    """Runs `main(settings, stop)` until it returns. `stop` is set by SIGTERM, SIGINT or the supervisor's death.

    A refusal is one line on standard error and the exit code of its kind."""
    try:
        settings = load()
        from waypost.bootstrap import logs

        logs.configure(settings, process=name)
        _runner()(_until_stopped(settings, main))
    except WaypostError as error:
        complain(error.detail)
        sys.exit(error.exit_code)


def complain(text: str) -> None:
    sys.stderr.write(f"waypost: {' '.join(text.split())}\n")


def _runner() -> Callable[[Awaitable[None]], None]:
    import uvloop

    return uvloop.run  # pyright: ignore[reportReturnType] — takes any coroutine


async def _until_stopped(settings: Settings, main: Callable[[Settings, asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if SUPERVISED in sys.argv:
        loop.add_reader(sys.stdin.fileno(), _notice_end, loop, stop)
    await main(settings, stop)


def _notice_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if os.read(sys.stdin.fileno(), 1) == b"":
        loop.remove_reader(sys.stdin.fileno())
        stop.set()
