"""`python -m waypost.workers.relay`: what `waypost relay` becomes, a process that only tells others what happened."""

import asyncio

from waypost.bootstrap.process import run
from waypost.settings import Settings


async def relay_until_stopped(settings: Settings, stop: asyncio.Event) -> None:
    from prometheus_client import CollectorRegistry, start_http_server

    from waypost.bootstrap.ports import claim_port
    from waypost.bootstrap.relay import open_lone_relay
    from waypost.workers.metrics import RelayMetrics

    registry = CollectorRegistry()
    port = claim_port(settings.metrics_host, settings.worker_port, "--worker-metrics-port")
    async with open_lone_relay(settings, RelayMetrics(registry)) as relay:
        server, thread = start_http_server(port, settings.metrics_host, registry)
        running = asyncio.create_task(relay.run())
        try:
            await stop.wait()
            await relay.stop(settings.drain)
            await running
        finally:
            running.cancel()
            server.shutdown()
            server.server_close()
            thread.join()


if __name__ == "__main__":
    run("relay", relay_until_stopped)
