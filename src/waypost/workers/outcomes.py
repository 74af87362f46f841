"""One line of the log for every outcome, written a batch at a time because there may be thousands a second."""

import logging
import sys
from collections.abc import Sequence
from typing import Final, TextIO

import msgspec
import structlog

from waypost.delivery.model import Closed, Ended, Settlement
from waypost.kernel.clock import Clock
from waypost.kernel.ids import show

ACTION: Final = "notification_settled"
_log: Final = structlog.stdlib.get_logger("waypost.worker")
_encode: Final = msgspec.json.Encoder().encode


def result_of(settlement: Settlement) -> str:
    """The vendor's outcome, the state of an end without a call, or `returned` to the queue."""
    if isinstance(settlement, Closed):
        return settlement.outcome.kind.name.lower()
    return settlement.end.state.word if isinstance(settlement, Ended) else "returned"


def reason_of(settlement: Settlement) -> str | None:
    if isinstance(settlement, Closed):
        return settlement.outcome.reason
    return settlement.end.reason if isinstance(settlement, Ended) else None


class OutcomeLog:
    """Plain JSON for machines, made and written at once; for people through the usual logger."""

    def __init__(self, clock: Clock, *, for_people: bool, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._for_people = for_people
        self._stream = stream or sys.stderr

    def write(self, settlements: Sequence[Settlement]) -> None:
        if not settlements or not logging.getLogger("waypost.worker").isEnabledFor(logging.INFO):
            return
        if self._for_people:
            for one in settlements:
                _log.info("notification settled", **_fields(one))
            return
        head = {
            "event": "notification settled",
            "level": "info",
            "logger": "waypost.worker",
            "process": "worker",
            "timestamp": self._clock.now().isoformat(),
        }
        lines = [_encode(_fields(one) | head) for one in settlements]
        self._stream.write(b"\n".join([*lines, b""]).decode())
        self._stream.flush()


def _fields(settlement: Settlement) -> dict[str, object]:
    held = settlement.held
    fields: dict[str, object] = {
        "action": ACTION,
        "tenant": held.tenant_id,
        "notification": show("ntf", held.id),
        "channel": held.channel.word,
        "result": result_of(settlement),
        "attempt": held.n,
    }
    if (reason := reason_of(settlement)) is not None:
        fields["reason"] = reason
    if isinstance(settlement, Closed):
        fields["latency_ms"] = settlement.outcome.latency_ms
        if settlement.outcome.code is not None:
            fields["code"] = settlement.outcome.code
    return fields
