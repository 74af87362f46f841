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


Told = tuple[str, str, str | None]
"""Channel, result and reason. The result is the vendor's outcome, the state of an end without a call, or `returned` to
the queue."""


def tell(settlement: Settlement) -> Told:
    channel = CHANNEL_WORDS[settlement.held.channel]
    if isinstance(settlement, Closed):
        outcome = settlement.outcome
        return channel, _RESULTS[outcome.kind], outcome.reason
    if isinstance(settlement, Ended):
        return channel, settlement.end.state.word, settlement.end.reason
    return channel, "returned", None


class OutcomeLog:
    """Plain JSON for machines, made and written at once; for people through the usual logger."""

    def __init__(self, clock: Clock, *, for_people: bool, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._for_people = for_people
        self._stream = stream or sys.stderr

    def write(self, settlements: Sequence[Settlement], told: Sequence[Told] | None = None) -> None:
        """`told` is what `tell` says of each, where that is known already."""
        if not settlements or not logging.getLogger("waypost.worker").isEnabledFor(logging.INFO):
            return
        told = told or [tell(one) for one in settlements]
        timestamp = "" if self._for_people else self._clock.now().isoformat()
        lines = [_line(one, words, timestamp) for one, words in zip(settlements, told, strict=True)]
        if self._for_people:
            for line in lines:
                _log.info("notification settled", **_for_people(line))
            return
        self._stream.write(_encode(lines).decode())
        self._stream.flush()


def _line(settlement: Settlement, told: Told, timestamp: str) -> _Line:
    held, outcome = settlement.held, settlement.outcome if isinstance(settlement, Closed) else None
    channel, result, reason = told
    return _Line(
        ACTION,
        held.tenant_id,
        show("ntf", held.id),
        channel,
        result,
        held.n,
        "notification settled",
        "info",
        "waypost.worker",
        "worker",
        timestamp,
        reason,
        None if outcome is None else outcome.latency_ms,
        None if outcome is None else outcome.code,
    )


def _for_people(line: _Line) -> dict[str, object]:
    fields = msgspec.structs.asdict(line).items()
    return {name: value for name, value in fields if value is not None and name not in _NOT_FOR_PEOPLE}
