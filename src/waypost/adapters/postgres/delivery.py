"""Delivery as one tenant sees it in PostgreSQL: enqueue, cancel, and how notifications stand."""

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import timedelta
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.gate_rows import spread_facts_of
from waypost.adapters.postgres.outbox import append_news
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgTransaction, connection_of
from waypost.channels.model import OutcomeKind
from waypost.delivery.gate import GateFacts, MessageKind
from waypost.delivery.model import AttemptView, QueueRow, State, StateView, TimelineEntry
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint, moment_of, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.outbox.model import News, OutboxKind

_SQL: Final = load("delivery")
_MARKETING: Final = Category.MARKETING
Value = TypeVar("Value")
_detail = msgspec.json.Decoder(dict[str, JsonValue])


class PgDelivery:
    """Implements `delivery.ports.DeliveryStore`. `ring` wakes the workers, once what was enqueued is committed."""

    def __init__(self, *, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring

    async def enqueue(self, tx: Transaction, rows: Sequence[QueueRow]) -> None:
        if not rows:
            return
        await connection_of(tx).execute(
            _SQL["enqueue"],
            [row.id for row in rows],
            [row.channel for row in rows],
            [row.priority for row in rows],
            [row.due for row in rows],
            [row.retention for row in rows],
            [row.attempt for row in rows],
            [row.claims for row in rows],
        )
        self.wake_workers(tx)

    def wake_workers(self, tx: Transaction) -> None:
        if isinstance(tx, PgTransaction):
            tx.after_commit(self._ring)

    async def gate_facts(
        self,
        tx: Transaction,
        channel: Channel,
        people: Sequence[tuple[UUID, UUID | None]],
        kinds: Sequence[MessageKind],
    ) -> Sequence[GateFacts]:
        if not people:
            return []
        rows = await connection_of(tx).fetch(
            _SQL["gate_facts"],
            tx.tenant_id,
            channel,
            [recipient for recipient, _ in people],
            [address for _, address in people],
            _once([kind.topic for kind in kinds]),
            _once([kind.category is _MARKETING for kind in kinds]),
            channel.word,
        )
        return spread_facts_of(rows, channel, len(people))

    async def current_address(self, tx: Transaction, recipient_id: UUID, channel: Channel) -> UUID | None:
        return await connection_of(tx).fetchval(_SQL["current_address"], tx.tenant_id, recipient_id, channel)

    async def waiting_for(
        self,
        tx: Transaction,
        recipient_id: UUID,
        channel: Channel,
        categories: Sequence[Category],
        topic: str | None,
    ) -> Sequence[UUID]:
        rows = await connection_of(tx).fetch(
            _SQL["waiting_for"], tx.tenant_id, recipient_id, channel, list(categories), topic
        )
        return [row["id"] for row in rows]

    async def cancel(self, tx: Transaction, ids: Sequence[UUID]) -> Set[UUID]:
        connection = connection_of(tx)
        rows = await connection.fetch(_SQL["take_back"], tx.tenant_id, sorted(set(ids)))
        cancelled = sorted(row["id"] for row in rows)
        if cancelled:
            await connection.execute(
                _SQL["end_cancelled"], tx.tenant_id, cancelled, [mint(self._clock) for _ in cancelled]
            )
            news = [
                News(kind=OutboxKind.NOTIFICATION_CANCELLED, subject_id=row["id"], n=row["attempt"]) for row in rows
            ]
            await append_news(connection, tx.tenant_id, news)
        return set(cancelled)

    async def states(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, StateView]:
        rows = await connection_of(tx).fetch(_SQL["states"], tx.tenant_id, list(ids)) if ids else []
        return {row["id"]: _state(row) for row in rows}

    async def timeline(self, tx: Transaction, notification_id: UUID) -> Sequence[TimelineEntry]:
        connection = connection_of(tx)
        entries = [
            TimelineEntry(at=row["at"], event=row["event"], reason=row["reason"], detail=_detail.decode(row["detail"]))
            for row in await connection.fetch(_SQL["notes"], tx.tenant_id, notification_id)
        ]
        for attempt in await self.attempts(tx, notification_id):
            entries += _entries_of(attempt)
        return sorted(entries, key=lambda entry: entry.at)

    async def attempts(self, tx: Transaction, notification_id: UUID) -> Sequence[AttemptView]:
        rows = await connection_of(tx).fetch(_SQL["attempts"], tx.tenant_id, notification_id)
        return [_attempt(row) for row in rows]


def _once(column: list[Value]) -> list[Value]:
    """One element where all are the same."""
    return column[:1] if column.count(column[0]) == len(column) else column


def _state(row: Record) -> StateView:
    return StateView(
        channel=Channel(row["channel"]),
        state=State(row["state"]),
        reason=row["reason"],
        attempts=row["attempts"],
        updated_at=row["updated_at"] or moment_of(row["id"]),
    )


def _attempt(row: Record) -> AttemptView:
    return AttemptView(
        n=row["n"],
        started_at=row["started_at"],
        account_id=row["account_id"],
        latency_ms=row["latency_ms"],
        outcome=None if row["outcome"] is None else OutcomeKind(row["outcome"]).name.lower(),
        reason=row["reason"],
        code=row["code"],
        reference=row["reference"],
        reply=row["reply"],
    )


def _entries_of(attempt: AttemptView) -> list[TimelineEntry]:
    started: dict[str, JsonValue] = {"attempt": attempt.n}
    if attempt.account_id is not None:
        started["sender_account"] = show("acc", attempt.account_id)
    entries = [TimelineEntry(at=attempt.started_at, event="attempt_started", reason=None, detail=started)]
    if attempt.outcome is not None:
        told = {"code": attempt.code, "reference": attempt.reference, "latency_ms": attempt.latency_ms}
        entries.append(
            TimelineEntry(
                at=attempt.started_at + timedelta(milliseconds=attempt.latency_ms or 0),
                event=f"attempt_{attempt.outcome}",
                reason=attempt.reason,
                detail={**started, **{name: value for name, value in told.items() if value is not None}},
            )
        )
    return entries
