"""Kinds of news. Rows are narrow: the subject's own record says the rest when the news is told."""

from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID


class OutboxKind(IntEnum):
    """Stored in `outbox.kind`, so numbers never change meaning."""

    NOTIFICATION_DISPATCHED = 1
    NOTIFICATION_DEFERRED = 2
    NOTIFICATION_FAILED = 3
    NOTIFICATION_SUPPRESSED = 4
    NOTIFICATION_CANCELLED = 5
    NOTIFICATION_EXPIRED = 6
    NOTIFICATION_UNCONFIRMED = 7
    SUPPRESSION_ADDED = 20
    SUPPRESSION_RELEASED = 21


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    kind: OutboxKind
    subject_id: UUID
    n: int = 0
    """The attempt it is about, where there is one."""
