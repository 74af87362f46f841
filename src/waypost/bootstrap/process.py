"""What every process of ours has in common: settings, logs, an event loop, and an orderly end."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from waypost.kernel.errors import WaypostError
from waypost.settings import Settings, load

SUPERVISED: Final = "--supervised"
"""Given by a supervisor: standard input stays open as long as it lives, so its end is ours too."""

_STANDARD_INPUT: Final = 0

Main = Callable[[Settings, asyncio.Event], Awaitable[None]]


def run(name: str, main: Main) -> None:
    """Runs `main(settings, stop)` until it returns. `stop` is set by SIGTERM, SIGINT or the supervisor's death.

    A refusal is one line on standard error and the exit code of its kind; what nobody expected is told without its
    words, which may hold somebody's data. `main` imports what is heavy by itself:
    what is left out here must be left out before."""
    leave_out_unused()
    try:
        settings = load()
        from waypost.bootstrap import logs

        logs.configure(settings, process=name)
        _run_loop(_until_stopped(settings, main))
    except WaypostError as error:
        complain(error.detail)
        sys.exit(error.exit_code)
    except Exception as unexpected:
        from waypost.bootstrap.last_words import last_words

        for line in last_words(unexpected):
            complain(f"The {name} ended by an error that nobody expected: {line}")
        sys.exit(1)


def complain(text: str) -> None:
    sys.stderr.write(f"waypost: {' '.join(text.split())}\n")


def leave_out_unused() -> None:
    """structlog would load `rich` for tracebacks that our logs never paint, 4 MB in every process; Litestar would load
    `pydantic` for models that nobody has, 11 MB and half a second."""
    for name in ("rich", "pydantic"):
        sys.modules.setdefault(name, None)  # pyright: ignore[reportArgumentType] — None is how Python marks one absent


def _run_loop(main: Coroutine[Any, Any, None]) -> None:
    import uvloop

    uvloop.run(main)


async def _until_stopped(settings: Settings, main: Main) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if SUPERVISED in sys.argv:
        loop.add_reader(_STANDARD_INPUT, _notice_end, loop, stop)
    await main(settings, stop)


def _notice_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if os.read(_STANDARD_INPUT, 1) == b"":
        loop.remove_reader(_STANDARD_INPUT)
        stop.set()
