"""`python -m waypost.cli.supervisor.crew`: what `waypost worker --processes N` becomes.

Each worker is a process of its own, with its own lease and journal; one that dies is started again, and what it left
is taken up by the others meanwhile. SIGTERM lets all of them finish what they have begun.
"""

import asyncio
import os
import signal
import sys
from typing import Final

from waypost.bootstrap.process import complain, leave_out_unused
from waypost.cli.supervisor.children import Child, StartRefusedError, spawn_afresh
from waypost.cli.supervisor.nursery import Nursery, open_nursery
from waypost.cli.supervisor.stopping import Stop
from waypost.cli.supervisor.workers import worker_settings
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import WaypostError
from waypost.settings import Settings, load

_SHARED: Final = ("uvloop", "structlog", "waypost.bootstrap.logs", "waypost.bootstrap.worker")


def main() -> None:
    try:
        settings = load()
        # Elsewhere forking is not safe, and interpreters are started afresh.
        nursery = open_nursery(_SHARED) if sys.platform == "linux" else None
        asyncio.run(_run(settings, nursery))
    except asyncio.CancelledError:
        return
    except StartRefusedError as refusal:
        sys.exit(refusal.exit_code)
    except WaypostError as error:
        complain(error.detail)
        sys.exit(error.exit_code)


async def _run(settings: Settings, nursery: Nursery | None) -> None:
    stop = Stop()
    if nursery is not None:
        nursery.listen()
    spawn = nursery.spawn if nursery is not None else spawn_afresh
    clock = SystemClock()
    everyone = [
        Child(f"worker {number}", "waypost.workers", {**os.environ, **own.environment()}, clock=clock, spawn=spawn)
        for number, own in enumerate(worker_settings(settings, settings.worker_metrics_port), 1)
    ]
    stop.when_impatient(lambda: [child.kill() for child in everyone])
    try:
        for child in everyone:
            await child.start()
        if nursery is not None:
            nursery.settle()
        await stop.or_failure_of([asyncio.create_task(child.keep_alive(_nothing)) for child in everyone])
    finally:
        await asyncio.gather(*(child.stop(settings.drain + 5) for child in everyone))


def _nothing() -> None:
    """Nobody keeps a list of them."""


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    leave_out_unused()
    main()
