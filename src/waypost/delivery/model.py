"""What the delivery engine handles: claimed work, and how each piece of it ended."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final
from uuid import UUID

from waypost.kernel.vocabulary import Category, Channel, Priority, Retention


class State(IntEnum):
    """The life of a notification. Numbers are stored in `notifications.status`; from 7 on they end it without an attempt's word."""

    SCHEDULED = 1
    QUEUED = 2
    DISPATCHING = 3
    DISPATCHED = 4
    DELIVERED = 5
    BOUNCED = 6
    FAILED = 7
    SUPPRESSED = 8
    CANCELLED = 9
    EXPIRED = 10
    UNCONFIRMED = 11

    @property
    def word(self) -> str:
        return self.name.lower()


ENDS: Final = frozenset(
    {
        State.DISPATCHED,
        State.DELIVERED,
        State.BOUNCED,
        State.FAILED,
        State.SUPPRESSED,
        State.CANCELLED,
        State.EXPIRED,
        State.UNCONFIRMED,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claimed:
    """One notification in a worker's hands: its queue row is gone, its attempt `n` is open and fences every later write."""

    tenant_id: str
    id: UUID
    retention: Retention
    n: int
    claims: int
    channel: Channel
    category: Category
    priority: Priority
    recipient_id: UUID
    address_id: UUID | None
    version_id: UUID
    locale: str | None
    expires_at: datetime
    payload: bytes
    """Sealed under the recipient's data key, bound to `payload:<tenant>:<notification uuid>`."""
    secrets: bytes | None
    data_key: bytes | None
    """Wrapped; None when the recipient has been erased."""
    gate_changed: bool
    """Something about the recipient has changed since submit (or submit is long ago): ask the whole gate again."""
