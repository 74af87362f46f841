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
    SOFT_BOUNCE = "soft_bounce"
    """For a time: the mailbox is full, or its server away."""
    RATE_LIMIT = "rate_limit"
    """For a time: the mailbox provider asked for less."""
    OPT_OUT = "opt_out"
    """The recipient's own word. It stands beside the others, so that releasing them never takes it back."""

    @property
    def rank(self) -> int:
        """How grave: news never lowers it."""
        return _RANKS[self]


_RANKS: Final = {
    SuppressionReason.COMPLIANCE: 7,
    SuppressionReason.COMPLAINT: 6,
    SuppressionReason.HARD_BOUNCE: 5,
    SuppressionReason.INVALID_ADDRESS: 4,
    SuppressionReason.MANUAL: 3,
    SuppressionReason.SOFT_BOUNCE: 2,
    SuppressionReason.RATE_LIMIT: 1,
    SuppressionReason.OPT_OUT: 0,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class OptOut:
    """A recipient's own word in force."""

    topic: str = ""
    """Empty: all marketing."""
    spared: frozenset[str] = frozenset()
    """Topics consented to since."""


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
    topic: str = ""
    """Of an opt-out: what it is about; empty for all marketing."""
    notes: str | None = None
    sealed: bytes | None = None
    """Of the platform's own: the address, so that tenants made later are covered too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuppressionFilter:
    """Of those in force. A `hash` is of an address on `channel`."""

    channel: Channel | None = None
    reason: SuppressionReason | None = None
    hash: str | None = None


EVERY: Final = SuppressionFilter()


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
    topic: str = ""
    notes: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedAddress:
    """An address of a person, as it lies in the store."""

    id: UUID
    hash: str
    ciphertext: bytes
    """Empty once it was revoked."""
    recipient_id: UUID
    data_key: bytes | None
    """Wrapped; None when the recipient has been erased."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedSuppression:
    """One of the platform's own, with its address under the platform's key."""

    id: UUID
    channel: Channel
    hash: str
    expires_at: datetime | None
    sealed: bytes
