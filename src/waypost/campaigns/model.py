"""A dispatch batch: one message to all whom a query finds, unfolded in small steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.delivery.model import State
from waypost.kernel.errors import Conflict
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.templates.model import Content

MOST_NAMED: Final = 10_000


class BatchState(StrEnum):
    DRAFT = "draft"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    COMPLETED = "completed"
    """Everyone has been reached for; what became of each message is told by the totals."""
    CANCELLED = "cancelled"
    FAILED = "failed"


TRANSITIONS: Final[Mapping[BatchState, frozenset[BatchState]]] = {
    BatchState.DRAFT: frozenset({BatchState.SCHEDULED, BatchState.CANCELLED}),
    BatchState.SCHEDULED: frozenset({BatchState.RUNNING, BatchState.CANCELLED}),
    BatchState.RUNNING: frozenset({BatchState.COMPLETED, BatchState.CANCELLED, BatchState.FAILED}),
    # What is on its way after the last step can still be stopped.
    BatchState.COMPLETED: frozenset({BatchState.CANCELLED}),
    BatchState.FAILED: frozenset({BatchState.CANCELLED}),
    BatchState.CANCELLED: frozenset(),
}


def check_transition(now: BatchState, wanted: BatchState) -> None:
    if wanted not in TRANSITIONS[now]:
        raise Conflict(f"This batch is {now.value} and cannot become {wanted.value}.", code="illegal_transition")


class Audience(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whom it is for: everybody, unless one of these narrows it down."""

    tag: str | None = None
    list_id: UUID | None = None
    ids: tuple[str, ...] | None = None
    """The caller's own ids."""

    @property
    def narrowings(self) -> int:
        return sum(one is not None for one in (self.tag, self.list_id, self.ids))


class BatchMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is sent, as a call to send would say it: of a template, or content of its own."""

    template: str | None = None
    content: Content | None = None
    channels: tuple[str, ...] = ("email",)
    routing: str = "all"
    variables: dict[str, JsonValue] = {}
    category: str | None = None
    topic: str | None = None
    priority: str = "normal"
    sender: str | None = None
    reply_to: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    metadata: dict[str, JsonValue] = {}
    tracking: Tracking = UNSAID


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    id: UUID
    state: BatchState
    audience: Audience
    message: bytes
    """Sealed under the tenant's key."""
    per_minute: int | None
    starts_at: datetime | None
    place: UUID
    expanded: int
    refused: int
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    failures: int

    @property
    def dedupe_key(self) -> str:
        """One message for each recipient and channel, for ever."""
        return f"brd:{self.id.hex}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Counted from the notifications themselves whenever it is asked."""

    states: Mapping[State, int]
    recipients: int
    """Passed by the steps that are done."""
    refused: int
    """Of these, those for whom the message could not be made."""
