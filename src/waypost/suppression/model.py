"""Suppressions: addresses, by keyed hash, that must not be written to."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.vocabulary import Channel


class SuppressionReason(StrEnum):
    COMPLIANCE = "compliance"
    COMPLAINT = "complaint"
    HARD_BOUNCE = "hard_bounce"
    INVALID_ADDRESS = "invalid_address"
    MANUAL = "manual"
    RATE_LIMIT = "rate_limit"
    """For a time: the mailbox provider asked for less."""
    OPT_OUT = "opt_out"
    """The recipient's own word. It stands beside the others, so that releasing them never takes it back."""

    @property
    def rank(self) -> int:
        """How grave: news never lowers it."""
        return _RANKS[self]


_RANKS: Final = {
    SuppressionReason.COMPLIANCE: 6,
    SuppressionReason.COMPLAINT: 5,
    SuppressionReason.HARD_BOUNCE: 4,
    SuppressionReason.INVALID_ADDRESS: 3,
    SuppressionReason.MANUAL: 2,
    SuppressionReason.RATE_LIMIT: 1,
    SuppressionReason.OPT_OUT: 0,
}


class Releaser(StrEnum):
    """Who takes a suppression back."""

    OPERATOR = "operator"
    RECIPIENT = "recipient"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSuppression:
    channel: Channel
    hash: str
    masked: str
    reason: SuppressionReason
    source: str
    """Where the news came from: `api:<key>`, `smtp`, `recipient`."""
    notification_id: UUID | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppression:
    id: UUID
    channel: Channel
    masked: str
    reason: SuppressionReason
    source: str
    notification_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    released_at: datetime | None
    released_by: str | None
