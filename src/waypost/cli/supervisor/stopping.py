"""When to stop: on the first SIGINT or SIGTERM in order, on the second at once."""

import asyncio
import signal
from collections.abc import Callable, Sequence


class Stop:
    """Must be made inside the event loop that it stops."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._impatient: Callable[[], object] | None = None
        self._main = asyncio.current_task()
        self._running = False
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ask)

    def when_impatient(self, callback: Callable[[], object]) -> None:
        """Called when somebody asks a second time."""
        self._impatient = callback

    async def or_failure_of(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Waits until somebody asks to stop; a task that fails before that is raised."""
        self._running = True
        asked = asyncio.create_task(self._asked.wait())
        pending: set[asyncio.Task[None] | asyncio.Task[bool]] = {asked, *tasks}
        try:
            while not self._asked.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done - {asked}:
                    task.result()
        finally:
            for task in pending:
                task.cancel()

    def _ask(self) -> None:
        if self._asked.is_set() and self._impatient is not None:
            self._impatient()
        self._asked.set()
        # Before everything runs there is nothing to drain: give up where we stand and undo what was begun.
        if not self._running and self._main is not None:
            self._main.cancel()
