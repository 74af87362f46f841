"""`python -m waypost.api`: one API process, and its metrics on a port of their own."""

import asyncio
import gc
from contextlib import suppress
from typing import Final

from waypost.bootstrap.ports import claim_port
from waypost.bootstrap.process import run
from waypost.settings import Settings

_YOUNG_OBJECTS: Final = 20_000


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    from prometheus_client import CollectorRegistry

    from waypost.api.app import create_app
    from waypost.api.live.app import live_app
    from waypost.api.live.metrics import LiveMetrics
    from waypost.api.metrics import metrics_app
    from waypost.api.server import server_of
    from waypost.bootstrap.api import open_app

    port = claim_port(settings.host, settings.port, "--port")
    metrics_port = claim_port(settings.metrics_host, settings.api_metrics_port, "--metrics-port")
    live_port = claim_port(settings.host, settings.api_live_port, "--live-port")
    registry = CollectorRegistry()
    async with open_app(settings, registry) as app:
        live = live_app(app, LiveMetrics(registry))
        servers = [
            server_of(create_app(app, registry=registry), settings.host, port),
            server_of(metrics_app(registry), settings.metrics_host, metrics_port),
            server_of(live, settings.host, live_port, websockets=True),
        ]
        # What was imported and built lives as long as the process: the collector need not look at it again and again,
        # nor at every few hundred objects of a request.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG_OBJECTS, 20, 50)
        serving = [asyncio.create_task(server.serve()) for server in servers]
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([stopped, *serving], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        await live.close()
        for server in servers:
            server.stop()
        # Whoever has not been answered by then asks again, with the same Idempotency-Key.
        with suppress(TimeoutError):
            async with asyncio.timeout(settings.drain):
                await asyncio.gather(*serving)


if __name__ == "__main__":
    run("api", serve)
