"""What a submit tells: metrics of the catalogue in `kernel/telemetry.py`."""

from prometheus_client import CollectorRegistry

from waypost.bootstrap.meters import counter, histogram
from waypost.notifications.model import Accepted


class SubmitMetrics:
    """Implements `notifications.ports.SubmitTelemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._accepted = counter(registry, "waypost_accepted_total")
        self._seconds = histogram(registry, "waypost_submit_seconds")

    def accepted(self, accepted: Accepted, seconds: float) -> None:
        self._seconds.observe(seconds)
        for one in accepted.notifications:
            self._accepted.labels(one.channel.word, one.status.word, one.reason or "").inc()
