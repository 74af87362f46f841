"""What a worker counts: the engine's telemetry as metrics of the catalogue in `kernel/telemetry.py`."""

from collections import Counter
from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry

from waypost.bootstrap.meters import counter, gauge, histogram, observe_many
from waypost.delivery.model import Closed, Settlement, Standing
from waypost.delivery.ports import ComposeAnswer, Composed, Withheld
from waypost.outbox.webhook_model import Answer
from waypost.workers.outcomes import OutcomeLog, tell


class RelayMetrics:
    """Implements `outbox.ports.RelayTelemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = counter(registry, "waypost_webhook_calls_total")
        self._call_seconds = histogram(registry, "waypost_webhook_call_seconds")
        self._deliveries = counter(registry, "waypost_webhook_deliveries_total")
        self._published = counter(registry, "waypost_published_total")
        self._relay_waiting = gauge(registry, "waypost_relay_waiting")
        self._relay_oldest = gauge(registry, "waypost_relay_oldest_seconds")

    def called(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            result = f"{answer.status // 100}xx" if answer.status else answer.fault.value if answer.fault else "none"
            self._calls.labels(result).inc()
            self._call_seconds.observe(answer.latency_ms / 1000)

    def published(self, publisher: str, events: int, refused: int) -> None:
        self._published.labels(publisher, "kept").inc(events)
        if refused:
            self._published.labels(publisher, "refused").inc(refused)

    def expanded(self, deliveries: int) -> None:
        self._deliveries.inc(deliveries)

    def behind(self, waiting: Mapping[str, tuple[int, float]]) -> None:
        self._relay_waiting.clear()
        self._relay_oldest.clear()
        for reader, (count, seconds) in waiting.items():
            self._relay_waiting.labels(reader).set(count)
            self._relay_oldest.labels(reader).set(seconds)


class WorkerMetrics(RelayMetrics):
    """Implements `delivery.ports.Telemetry` too; every settlement also becomes a line of the log."""

    def __init__(self, registry: CollectorRegistry, log: OutcomeLog | None = None) -> None:
        super().__init__(registry)
        self._log = log
        self._claimed = counter(registry, "waypost_claimed_total")
        self._claim_seconds = histogram(registry, "waypost_claim_seconds")
        self._compose_seconds = histogram(registry, "waypost_compose_seconds")
        self._withheld = counter(registry, "waypost_withheld_total")
        self._settled = counter(registry, "waypost_settled_total")
        self._attempt_seconds = histogram(registry, "waypost_attempt_seconds")
        self._settle_seconds = histogram(registry, "waypost_settle_seconds")
        self._rescued = counter(registry, "waypost_rescued_total")
        self._waiting = gauge(registry, "waypost_queue_waiting")
        self._oldest = gauge(registry, "waypost_queue_oldest_seconds")
        self._workers = gauge(registry, "waypost_workers_alive")
        self._strays = gauge(registry, "waypost_default_partition_rows")

    def claimed(self, rows: int, seconds: float) -> None:
        self._claimed.inc(rows)
        self._claim_seconds.observe(seconds)

    def composed(self, answers: Sequence[ComposeAnswer], seconds: float) -> None:
        self._compose_seconds.observe(seconds)
        for answer in answers:
            # Nearly all are this, and a struct is known by its own class at once.
            if not isinstance(answer, Composed) and isinstance(answer, Withheld):
                self._withheld.labels(answer.reason).inc()

    def settled(self, settlements: Sequence[Settlement], seconds: float) -> None:
        self._settle_seconds.observe(seconds)
        told = [tell(one) for one in settlements]
        for (channel, result, reason), count in Counter(told).items():
            self._settled.labels(channel, result, reason or "").inc(count)
        latencies = Counter(
            [
                (channel, one.outcome.latency_ms)
                for one, (channel, _, _) in zip(settlements, told, strict=True)
                if isinstance(one, Closed)
            ]
        )
        for (channel, milliseconds), count in latencies.items():
            observe_many(self._attempt_seconds.labels(channel), milliseconds / 1000, count)
        if self._log is not None:
            self._log.write(settlements, told)

    def rescued(self, settlements: Sequence[Settlement]) -> None:
        for one in settlements:
            _, result, _ = tell(one)
            self._rescued.labels(result).inc()
        if self._log is not None:
            self._log.write(settlements)

    def stands(self, standing: Standing) -> None:
        self._waiting.clear()
        self._oldest.clear()
        for waiting in standing.waiting:
            labels = (waiting.channel.word, waiting.priority.word)
            self._waiting.labels(*labels).set(waiting.rows)
            self._oldest.labels(*labels).set(waiting.oldest_seconds)
        self._workers.set(standing.workers_alive)
        self._strays.set(standing.stray_rows)
