"""One line of the log for every outcome, written a batch at a time because there may be thousands a second."""

import logging
import sys
from collections.abc import Sequence
from typing import Final, TextIO

import msgspec
import structlog

from waypost.channels.model import OutcomeKind
from waypost.delivery.model import Closed, Ended, Settlement
from waypost.kernel.clock import Clock
from waypost.kernel.ids import show
from waypost.kernel.vocabulary import Channel


def _by_number(words: dict[int, str]) -> list[str]:
    return [words.get(number, "") for number in range(max(words) + 1)]


ACTION: Final = "notification_settled"
_log: Final = structlog.stdlib.get_logger("waypost.worker")
_encode: Final = msgspec.json.Encoder().encode_lines
# By number: looking an enumerated thing up by itself costs more than all else that is done with it here.
_RESULTS: Final = _by_number({int(kind): kind.name.lower() for kind in OutcomeKind})
CHANNEL_WORDS: Final = _by_number({int(channel): channel.word for channel in Channel})
_NOT_FOR_PEOPLE: Final = frozenset({"event", "level", "logger", "process", "timestamp"})


class _Line(msgspec.Struct, omit_defaults=True, gc=False):
    action: str
    tenant: str
    notification: str
    channel: str
    result: str
    attempt: int
    event: str
    level: str
    logger: str
    process: str
    timestamp: str
    reason: str | None = None
    latency_ms: int | None = None
    code: int | None = None


def result_of(settlement: Settlement) -> str:
    """The vendor's outcome, the state of an end without a call, or `returned` to the queue."""
    if isinstance(settlement, Closed):
        return _RESULTS[settlement.outcome.kind]
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
                _log.info("notification settled", **_for_people(_line(one, "")))
            return
        timestamp = self._clock.now().isoformat()
        self._stream.write(_encode([_line(one, timestamp) for one in settlements]).decode())
        self._stream.flush()


def _line(settlement: Settlement, timestamp: str) -> _Line:
    held, outcome = settlement.held, settlement.outcome if isinstance(settlement, Closed) else None
    return _Line(
        ACTION,
        held.tenant_id,
        show("ntf", held.id),
        CHANNEL_WORDS[held.channel],
        result_of(settlement),
        held.n,
        "notification settled",
        "info",
        "waypost.worker",
        "worker",
        timestamp,
        reason_of(settlement),
        None if outcome is None else outcome.latency_ms,
        None if outcome is None else outcome.code,
    )


def _for_people(line: _Line) -> dict[str, object]:
    fields = msgspec.structs.asdict(line).items()
    return {name: value for name, value in fields if value is not None and name not in _NOT_FOR_PEOPLE}
