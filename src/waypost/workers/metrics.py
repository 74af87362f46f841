"""What a worker counts. Labels are words of ours, never tenants or addresses.

waypost_claimed_total                          notifications taken off the queue
waypost_claim_seconds                          how long a claim took
waypost_settled_total{channel,result}          how they ended: an outcome, `ended`, or `returned` to the queue
waypost_attempt_seconds{channel}               from the call to the vendor's final word
waypost_settle_seconds                         how long it took to write a batch down
waypost_rescued_total{result}                  taken over from workers that were lost
"""

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from waypost.delivery.model import Closed, Ended, Settlement

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class WorkerMetrics:
    """Implements `delivery.ports.Telemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._claimed = Counter("waypost_claimed", "Notifications taken off the queue.", registry=registry)
        self._claim_seconds = Histogram(
            "waypost_claim_seconds", "Time of a claim.", registry=registry, buckets=_BUCKETS
        )
        self._settled = Counter("waypost_settled", "How they ended.", ("channel", "result"), registry=registry)
        self._attempt_seconds = Histogram(
            "waypost_attempt_seconds",
            "From the call to the vendor's final word.",
            ("channel",),
            registry=registry,
            buckets=_BUCKETS,
        )
        self._settle_seconds = Histogram(
            "waypost_settle_seconds", "Time to write a batch down.", registry=registry, buckets=_BUCKETS
        )
        self._rescued = Counter("waypost_rescued", "Taken over from lost workers.", ("result",), registry=registry)

    def claimed(self, rows: int, seconds: float) -> None:
        self._claimed.inc(rows)
        self._claim_seconds.observe(seconds)

    def settled(self, settlements: Sequence[Settlement], seconds: float) -> None:
        for one in settlements:
            channel = one.held.channel.word
            self._settled.labels(channel, _result(one)).inc()
            if isinstance(one, Closed):
                self._attempt_seconds.labels(channel).observe(one.outcome.latency_ms / 1000)
        self._settle_seconds.observe(seconds)

    def rescued(self, settlements: Sequence[Settlement]) -> None:
        for one in settlements:
            self._rescued.labels(_result(one)).inc()


def _result(settlement: Settlement) -> str:
    if isinstance(settlement, Closed):
        return settlement.outcome.kind.name.lower()
    return "ended" if isinstance(settlement, Ended) else "returned"
