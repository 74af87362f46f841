"""What streams count: metrics of the catalogue in `kernel/telemetry.py`."""

from prometheus_client import CollectorRegistry

from waypost.bootstrap.meters import counter, gauge


class LiveMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.open = gauge(registry, "waypost_streams_open")
        self.events = counter(registry, "waypost_stream_events_total")
        self.refused = counter(registry, "waypost_streams_refused_total")
