"""Settlements as the columns that `settle` takes, and the rest that only some of them need."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from waypost.channels.model import Outcome, OutcomeKind
from waypost.delivery.dead_letter_model import DeadLetterReason, dead_letter_of
from waypost.delivery.model import (
    Bounced,
    Claimed,
    Closed,
    End,
    Ended,
    Held,
    InboxCopy,
    Note,
    QueueRow,
    Returned,
    Settlement,
    State,
)
from waypost.outbox.model import OutboxKind
from waypost.senders.health import tally_of
from waypost.senders.model import Tally

_KIND_OF_END = {
    State.FAILED: OutboxKind.NOTIFICATION_FAILED,
    State.SUPPRESSED: OutboxKind.NOTIFICATION_SUPPRESSED,
    State.CANCELLED: OutboxKind.NOTIFICATION_CANCELLED,
    State.EXPIRED: OutboxKind.NOTIFICATION_EXPIRED,
    State.UNCONFIRMED: OutboxKind.NOTIFICATION_UNCONFIRMED,
}
Column = TypeVar("Column")
_TAKEN_BACK = Outcome(kind=OutcomeKind.UNREACHABLE)


@dataclass(frozen=True, slots=True)
class WrittenNote:
    event: str
    reason: str | None
    detail: str
    """As JSON."""
    once_a_day: bool = False


@dataclass(frozen=True, slots=True)
class DeadRow:
    """An end that is a dead letter."""

    id: UUID
    reason: DeadLetterReason
    detail: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Rest:
    """What a tenant's settlements need besides closing attempts. Sorted by notification."""

    again: list[QueueRow] = field(default_factory=list[QueueRow])
    held: list[tuple[QueueRow, UUID | None]] = field(default_factory=list[tuple[QueueRow, UUID | None]])
    """Rows to be put aside, and the account they wait for."""
    ends: list[tuple[Held, End]] = field(default_factory=list[tuple[Held, End]])
    dead: list["DeadRow"] = field(default_factory=list["DeadRow"])
    doubts: list[UUID] = field(default_factory=list[UUID])
    """Nobody knows whether these went out."""
    spent: list[UUID] = field(default_factory=list[UUID])
    notes: list[tuple[Held, WrittenNote]] = field(default_factory=list[tuple[Held, WrittenNote]])
    bounces: list[tuple[UUID, Bounced]] = field(default_factory=list[tuple[UUID, Bounced]])
    copies: list[tuple[UUID, InboxCopy]] = field(default_factory=list[tuple[UUID, InboxCopy]])

    def without(self, lost: Set[UUID]) -> "Rest":
        """Nothing may be done about what is not ours any more."""
        if not lost:
            return self
        return Rest(
            again=[row for row in self.again if row.id not in lost],
            held=[(row, account) for row, account in self.held if row.id not in lost],
            ends=[(held, end) for held, end in self.ends if held.id not in lost],
            dead=[row for row in self.dead if row.id not in lost],
            doubts=[one for one in self.doubts if one not in lost],
            spent=[one for one in self.spent if one not in lost],
            notes=[(held, note) for held, note in self.notes if held.id not in lost],
            bounces=[(one, bounced) for one, bounced in self.bounces if one not in lost],
            copies=[(one, copy) for one, copy in self.copies if one not in lost],
        )


@dataclass(frozen=True, slots=True)
class SettlementRows:
    settlements: Sequence[Settlement]
    """Sorted by tenant and notification."""
    rest: dict[str, Rest]

    @classmethod
    def of(cls, settlements: Sequence[Settlement]) -> "SettlementRows":
        rows = sorted(settlements, key=lambda one: (one.held.tenant_id, one.held.id))
        rest: dict[str, Rest] = {}
        for row in rows:
            if not _is_plain(row):
                _add_to_rest(rest.setdefault(row.held.tenant_id, Rest()), row)
        return cls(rows, rest)

    def arguments(self) -> tuple[object, ...]:
        """In the order of the function's parameters, from p_tenants on."""
        rows = self.settlements
        held = [row.held for row in rows]
        tenants, bounds = _bounds_of(held)
        closed = [row if isinstance(row, Closed) else None for row in rows]
        outcomes = [_TAKEN_BACK if row is None else row.outcome for row in closed]
        retentions = [one.retention for one in held]
        return (
            tenants,
            bounds,
            [one.id for one in held],
            min(retentions),
            max(retentions),
            _once([one.n for one in held]),
            _once([None if row is None else row.outcome.kind for row in closed]),
            [outcome.latency_ms for outcome in outcomes],
            _once([outcome.code for outcome in outcomes]),
            _or_none([outcome.reason for outcome in outcomes]),
            _or_none([outcome.reference for outcome in outcomes]),
            _or_none([None if row is None else row.sealed_reply for row in closed]),
            # Those that need nothing else are all told alike.
            _once([_kind_of(row) for row in (rows if self.rest else rows[:1])]),
            *_capacity_of(rows),
        )


def _bounds_of(held: Sequence[Held]) -> tuple[list[str], list[int]]:
    """The tenants in order, and where the rows of each end."""
    if held[0].tenant_id == held[-1].tenant_id:
        return [held[0].tenant_id], [len(held)]
    ends = {one.tenant_id: place for place, one in enumerate(held, start=1)}
    return list(ends), list(ends.values())


def _once(column: list[Column]) -> list[Column]:
    """One value that stands for all, where they are equal."""
    return column[:1] if column.count(column[0]) == len(column) else column


def _or_none(column: list[Column]) -> list[Column] | None:
    """Most batches have nothing to say in some columns, and every place of an array costs the driver something."""
    return column if any(column) else None


def _capacity_of(rows: Sequence[Settlement]) -> tuple[list[UUID | None] | None, list[Tally | None] | None]:
    """By which sender accounts they went, and what that means for these; nothing at all where none is concerned."""
    if all(row.held.way is None for row in rows):
        return None, None
    return (
        [None if row.held.way is None else row.held.way.account_id for row in rows],
        [None if row.held.way is None else _tally(row) for row in rows],
    )


def _tally(row: Settlement) -> Tally:
    return tally_of(row.outcome) if isinstance(row, Closed) else Tally.UNUSED


def _kind_of(row: Settlement) -> OutboxKind | None:
    if isinstance(row, Returned):
        return None
    if row.end is not None:
        return _KIND_OF_END[row.end.state]
    return OutboxKind.NOTIFICATION_DISPATCHED if row.retry_at is None else OutboxKind.NOTIFICATION_DEFERRED


def _is_plain(row: Settlement) -> bool:
    """Sent and done with: closing its attempt says all."""
    return (
        isinstance(row, Closed)
        and row.end is None
        and row.retry_at is None
        and row.copy is None
        and not (isinstance(row.held, Claimed) and row.held.secrets is not None)
    )


def _add_to_rest(rest: Rest, row: Settlement) -> None:
    if isinstance(row, Closed) and row.outcome.kind is OutcomeKind.IN_DOUBT:
        rest.doubts.append(row.held.id)
    if (reason := dead_letter_of(row)) is not None and not isinstance(row, Returned) and row.end is not None:
        made = row.held.n if isinstance(row, Closed) else row.held.n - 1
        rest.dead.append(DeadRow(row.held.id, reason, row.end.reason, made))
    if isinstance(row, Closed) and row.copy is not None:
        rest.copies.append((row.held.id, row.copy))
    match row:
        case Returned(held=held, due=due):
            back = _queue_row(held, due, attempt=held.n - 1, claims=row.claims)
            if row.hold:
                rest.held.append((back, row.account))
            else:
                rest.again.append(back)
            if row.note is not None:
                rest.notes.append((held, _written(row.note)))
        case Ended(held=held, end=end, note=note):
            rest.ends.append((held, end))
            rest.notes.append((held, _written(note)))
        case Closed(held=held, end=End() as end):
            rest.ends.append((held, end))
            if row.bounced is not None:
                rest.bounces.append((held.id, row.bounced))
        case Closed(held=held, retry_at=datetime() as retry_at):
            rest.again.append(_queue_row(held, retry_at, attempt=held.n, claims=row.claims))
        case Closed(held=held):
            rest.spent.append(held.id)


def _queue_row(held: Held, due: datetime, *, attempt: int, claims: int) -> QueueRow:
    return QueueRow(
        id=held.id,
        channel=held.channel,
        priority=held.priority,
        due=due,
        retention=held.retention,
        attempt=attempt,
        claims=claims,
    )


def _written(note: Note) -> WrittenNote:
    return WrittenNote(note.event, note.reason, msgspec.json.encode(note.detail).decode(), note.once_a_day)
