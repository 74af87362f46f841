"""Kinds of news. Rows are narrow: the subject's own record says the rest when the news is told."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final
from uuid import UUID

WEBHOOKS: Final = 0
"""The reader of the outbox that serves the tenants' own endpoints; those above are publishers of the operator's."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class OutboxKind(IntEnum):
    """Stored in `outbox.kind`, so numbers never change meaning. What each is called outside says `catalogue.py`."""

    NOTIFICATION_DISPATCHED = 1
    NOTIFICATION_DEFERRED = 2
    NOTIFICATION_FAILED = 3
    NOTIFICATION_SUPPRESSED = 4
    NOTIFICATION_CANCELLED = 5
    NOTIFICATION_EXPIRED = 6
    NOTIFICATION_UNCONFIRMED = 7
    NOTIFICATION_OPENED = 60
    """Its number, and that of the next, holds the link and the client (`kernel.tracking`)."""
    NOTIFICATION_CLICKED = 61
    SUPPRESSION_ADDED = 20
    SUPPRESSION_RELEASED = 21
    WEBHOOK_ENDPOINT_DISABLED = 40
    WEBHOOK_ENDPOINT_TEST = 41
    SENDER_ACCOUNT_PAUSED = 42
    SENDER_ACCOUNT_SUSPENDED = 43
    SENDER_ACCOUNT_RESUMED = 44
    SENDER_ACCOUNT_ARCHIVED = 45
    DOMAIN_VERIFIED = 50
    DOMAIN_FAILING = 51
    DOMAIN_FAILED = 52


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    kind: OutboxKind
    subject_id: UUID
    n: int = 0
    """The attempt it is about, where there is one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """One row of the outbox, on its way to somebody."""

    at: datetime
    """By the database's clock, while what it is about was locked: of one subject, a later event has a later time."""
    kind: int
    subject_id: UUID
    n: int
    row: int = 0
    """Its place in the outbox; 0 where it never was there."""

    @property
    def sequence(self) -> int:
        """Grows from event to event of one subject. It is no count: it has gaps, and it never starts again."""
        return (self.at - _EPOCH) // _MICROSECOND
