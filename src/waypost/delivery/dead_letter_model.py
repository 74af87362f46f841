"""Dead letters: messages that were given up though nobody wanted that."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.channels.model import OutcomeKind
from waypost.delivery.model import Ended, Returned, Settlement, State
from waypost.kernel.vocabulary import Category, Channel


class DeadLetterReason(StrEnum):
    RETRIES_EXHAUSTED = "retries_exhausted"
    REFUSED = "refused"
    NOT_COMPOSED = "not_composed"
    POISONOUS = "poisonous"


WORDS: Final = {
    DeadLetterReason.RETRIES_EXHAUSTED: "It was tried again and again until its time was over.",
    DeadLetterReason.REFUSED: "The other side refused it, for a reason that is not the recipient's address.",
    DeadLetterReason.NOT_COMPOSED: "It could not be made into a message: its content or what it needs is at fault.",
    DeadLetterReason.POISONOUS: "It took its worker down several times.",
}


class RedriveResult(StrEnum):
    """What came of sending one again."""

    REDRIVEN = "redriven"
    EXPIRED = "expired"
    """Its time is over, and no more was given."""
    SECRETS_GONE = "secrets_gone"
    """Its one-time codes were dropped with its end, so it cannot be composed again."""
    ERASED = "erased"
    """Its recipient was erased."""
    GONE = "gone"
    """No dead letter (any more)."""


def dead_letter_of(settlement: Settlement) -> DeadLetterReason | None:
    """Whether this end is one. A dead address is none (it is suppressed), nor is what the gate or a person stopped."""
    if isinstance(settlement, Returned) or (end := settlement.end) is None:
        return None
    if isinstance(settlement, Ended):
        if end.state is not State.FAILED:
            return None
        return DeadLetterReason.POISONOUS if end.reason == "dead_letter" else DeadLetterReason.NOT_COMPOSED
    match settlement.outcome.kind:
        case OutcomeKind.REJECTED:
            return None if settlement.outcome.hard_bounce else DeadLetterReason.REFUSED
        case OutcomeKind.DEFERRED | OutcomeKind.UNREACHABLE:
            return DeadLetterReason.RETRIES_EXHAUSTED
        case _:
            return None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    notification_id: UUID
    at: datetime
    reason: DeadLetterReason
    detail: str | None
    channel: Channel
    category: Category
    template: str | None
    """The key of its template; None for inline content."""
    recipient: str | None
    """The caller's own id of the recipient."""
    attempts: int
    expires_at: datetime | None
    spent: bool


class DeadLetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What is None matches everything."""

    reason: DeadLetterReason | None = None
    channel: Channel | None = None
    category: Category | None = None
    template: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class RedriveSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a job does."""

    filter: DeadLetterFilter
    extend_seconds: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Redriven:
    redriven: int
    refused: tuple[tuple[UUID, RedriveResult], ...] = ()
    job_id: UUID | None = None
    results: dict[RedriveResult, int] = field(default_factory=dict[RedriveResult, int])
