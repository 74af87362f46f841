"""Telemetry of a worker that nobody watches."""

from collections.abc import Mapping, Sequence

from waypost.delivery.model import Settlement, Standing
from waypost.delivery.ports import ComposeAnswer
from waypost.outbox.webhook_model import Answer


class QuietTelemetry:
    """Implements `bootstrap.worker.WorkerTelemetry`."""

    def claimed(self, rows: int, seconds: float) -> None:
        return

    def composed(self, answers: Sequence[ComposeAnswer], seconds: float) -> None:
        return

    def settled(self, settlements: Sequence[Settlement], seconds: float) -> None:
        return

    def rescued(self, settlements: Sequence[Settlement]) -> None:
        return

    def stands(self, standing: Standing) -> None:
        return

    def called(self, answers: Sequence[Answer]) -> None:
        return

    def published(self, publisher: str, events: int, refused: int) -> None:
        return

    def expanded(self, deliveries: int) -> None:
        return

    def behind(self, waiting: Mapping[str, tuple[int, float]]) -> None:
        return
