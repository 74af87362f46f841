"""What events and timers tell: metrics of the catalogue in `kernel/telemetry.py`."""

from prometheus_client import CollectorRegistry

from waypost.bootstrap.meters import counter, histogram


class EventMetrics:
    """Implements `triggers.ports.TriggerTelemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._taken = counter(registry, "waypost_events_total")
        self._ended = counter(registry, "waypost_timers_total")
        self._tick = histogram(registry, "waypost_timer_tick_seconds")
        self._pulled = counter(registry, "waypost_events_pulled_total")

    def taken(self, accepted: int, duplicates: int, refused: int) -> None:
        for word, count in (("accepted", accepted), ("duplicate", duplicates), ("refused", refused)):
            if count:
                self._taken.labels(word).inc(count)

    def fired(self, word: str, reason: str, count: int) -> None:
        self._ended.labels(word, reason).inc(count)

    def ticked(self, seconds: float) -> None:
        self._tick.observe(seconds)

    def consumed(self, outcome: str) -> None:
        self._pulled.labels(outcome).inc()
