"""The process that sends: runs a worker until it is told to stop, then lets it finish."""

import asyncio
import gc
import signal
from typing import Final, Protocol

_OBJECTS_BETWEEN_LOOKS: Final = 50_000
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class RunningWorker(Protocol):
    async def run(self) -> None: ...

    async def stop(self, grace_seconds: float) -> None: ...


async def run_dispatcher(worker: RunningWorker, *, drain_seconds: float) -> None:
    """Returns when a signal came and everything begun is settled; a second signal shortens the wait to nothing."""
    # What was imported and built lives as long as the process: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    # A batch makes thousands of short-lived objects and no rings of them: there is nothing to look for in between.
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, 10, 10)
    loop = asyncio.get_running_loop()
    signals: asyncio.Queue[None] = asyncio.Queue()
    for number in _SIGNALS:
        loop.add_signal_handler(number, signals.put_nowait, None)
    running = asyncio.create_task(worker.run())
    stopping: list[asyncio.Task[None]] = []
    try:
        for grace in (drain_seconds, 0.0):
            asked = asyncio.ensure_future(signals.get())
            await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if running.done():
                break
            stopping.append(asyncio.create_task(worker.stop(grace)))
        await running
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        for task in stopping:
            task.cancel()
