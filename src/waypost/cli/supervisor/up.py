"""`waypost up`, step by step: ports, data directory, database, demo tenant, then API and worker until it is stopped."""

import asyncio
import logging
import sys
from typing import Final

from waypost.bootstrap.data_dir import open_data_dir
from waypost.bootstrap.database import Database, run_database
from waypost.bootstrap.household import open_household
from waypost.bootstrap.process import complain
from waypost.cli import dev_env
from waypost.cli.supervisor import environment
from waypost.cli.supervisor.children import Child, StartRefusedError, spawn_afresh
from waypost.cli.supervisor.nursery import Nursery, open_nursery
from waypost.cli.supervisor.ports import claim_ports
from waypost.cli.supervisor.status import StatusFile
from waypost.cli.supervisor.stopping import Stop
from waypost.cli.supervisor.workers import worker_settings
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Unavailable, WaypostError
from waypost.settings import Settings, load

_SHARED: Final = ("uvloop", "structlog", "waypost.bootstrap.logs", "waypost.workers.process", "waypost.bootstrap.api")


def main() -> None:
    # While the database is away, its driver would write a traceback at every try to reconnect.
    logging.getLogger("asyncpg").setLevel(logging.ERROR)
    try:
        asked = load()
        settings = claim_ports(asked)
        # Elsewhere forking is not safe, and interpreters are started afresh.
        nursery = open_nursery(_SHARED) if sys.platform == "linux" else None
        asyncio.run(_up(settings, nursery, asked.worker_metrics_port))
    except asyncio.CancelledError:
        # Somebody asked to stop before everything ran; what had begun has been undone.
        return
    except StartRefusedError as refusal:
        sys.exit(refusal.exit_code)
    except WaypostError as error:
        complain(error.detail)
        sys.exit(error.exit_code)


async def _up(settings: Settings, nursery: Nursery | None, first_metrics: int | None) -> None:
    stop = Stop()
    if nursery is not None:
        nursery.listen()
    open_data_dir(settings.data_dir)
    async with run_database(settings) as database, open_household(settings, database) as household:
        await household.catchall.start(settings.catchall_port)
        keys = await household.ensure_demo(dev_env.read(settings.data_dir))
        dev_env.write(settings.data_dir, {"WAYPOST_URL": settings.api_url, **keys})
        try:
            await _run(settings, database, stop, nursery, first_metrics)
        finally:
            await household.catchall.close()


async def _run(
    settings: Settings, database: Database, stop: Stop, nursery: Nursery | None, first_metrics: int | None
) -> None:
    clock = SystemClock()
    spawn = nursery.spawn if nursery is not None else spawn_afresh
    api = Child("API", "waypost.api", environment.of_api(settings, database), clock=clock, spawn=spawn)
    workers = [
        Child(
            f"worker {number}" if number > 1 else "worker",
            "waypost.workers",
            environment.of_worker(own, database),
            clock=clock,
            spawn=spawn,
        )
        for number, own in enumerate(worker_settings(settings, first_metrics), 1)
    ]
    lasting = [api, *workers]
    if settings.takes_mail:
        in_front = environment.of_api(settings, database)
        lasting.append(Child("SMTP", "waypost.smtp", in_front, clock=clock, spawn=spawn))
    greeting = Child(
        "greeting",
        "waypost.cli.supervisor.greeting",
        environment.of_greeting(settings),
        clock=clock,
        spawn=spawn_afresh,
    )
    everyone = (*lasting, greeting)
    status = StatusFile(settings, database, lasting)
    stop.when_impatient(lambda: [child.kill() for child in everyone])
    try:
        for child in everyone:
            await child.start()
        if nursery is not None:
            nursery.settle()
        tasks = [
            *(asyncio.create_task(child.keep_alive(status.write)) for child in lasting),
            asyncio.create_task(greeting.run_once()),
            asyncio.create_task(_keep_database(database)),
        ]
        status.write()
        await stop.or_failure_of(tasks)
    finally:
        await asyncio.gather(*(child.stop(settings.drain + 5) for child in everyone))
        status.remove()


async def _keep_database(database: Database) -> None:
    """Starts the embedded server again when it dies; its clients reconnect by themselves."""
    while database.embedded is not None:
        await database.embedded.wait()
        complain("The embedded database ended unexpectedly; starting it again.")
        await database.embedded.stop()
        if await database.embedded.start() != database.administrator.reveal():
            raise Unavailable("The embedded database came back at another place. Run `waypost up` again.")
