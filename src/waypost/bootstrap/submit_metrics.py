"""What a submit tells: metrics of the catalogue in `kernel/telemetry.py`."""

from collections import Counter
from collections.abc import Sequence

from prometheus_client import CollectorRegistry

from waypost.bootstrap.meters import counter, histogram
from waypost.delivery.model import State
from waypost.kernel.vocabulary import Channel
from waypost.notifications.model import Accepted


class SubmitMetrics:
    """Implements `notifications.ports.SubmitTelemetry` and `notifications.fan_out.FanOutTelemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._accepted = counter(registry, "waypost_accepted_total")
        self._seconds = histogram(registry, "waypost_submit_seconds")

    def accepted(self, accepted: Sequence[Accepted], seconds: float) -> None:
        self._seconds.observe(seconds)
        ways = Counter(
            (one.channel, one.status, one.reason or "") for answer in accepted for one in answer.notifications
        )
        for (channel, status, reason), count in ways.items():
            self._accepted.labels(channel.word, status.word, reason).inc(count)

    def fanned_out(self, channel: Channel, status: State, count: int, seconds: float) -> None:
        self._seconds.observe(seconds)
        self._accepted.labels(channel.word, status.word, "").inc(count)
