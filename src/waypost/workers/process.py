"""A worker process: the dispatcher, and its metrics on a port of their own."""

import asyncio
import os
import signal

from prometheus_client import CollectorRegistry, start_http_server

from waypost.bootstrap.logs import is_for_people
from waypost.bootstrap.ports import claim_port
from waypost.bootstrap.worker import open_worker
from waypost.kernel.clock import SystemClock
from waypost.settings import Settings
from waypost.workers.dispatcher import run_dispatcher
from waypost.workers.metrics import WorkerMetrics
from waypost.workers.outcomes import OutcomeLog


async def work_until_stopped(settings: Settings, stop: asyncio.Event) -> None:
    registry = CollectorRegistry()
    port = claim_port(settings.metrics_host, settings.worker_port, "--worker-metrics-port")
    outcomes = OutcomeLog(SystemClock(), for_people=is_for_people(settings))
    async with open_worker(settings, WorkerMetrics(registry, outcomes), registry) as worker:
        server, thread = start_http_server(port, settings.metrics_host, registry)
        ending = asyncio.create_task(_end_with(stop))
        try:
            await run_dispatcher(worker, drain_seconds=settings.drain)
        finally:
            ending.cancel()
            server.shutdown()
            server.server_close()
            thread.join()


async def _end_with(stop: asyncio.Event) -> None:
    """The dispatcher listens to signals only; a supervisor that died sends none."""
    await stop.wait()
    os.kill(os.getpid(), signal.SIGTERM)
