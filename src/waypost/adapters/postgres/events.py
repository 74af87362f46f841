"""Consumed events, what they said about subjects, and those that failed, on PostgreSQL."""

import zlib
from collections.abc import AsyncGenerator, Sequence, Set
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.triggers.model import FailedEvent
from waypost.triggers.ports import SealedNews

_SQL: Final = load("events")
_BUCKETS: Final = 256
_MOST_NEWS: Final = 500


class PgEventStore:
    """Implements `triggers.ports.EventStore`."""

    async def consume(self, tx: Transaction, events: Sequence[tuple[str, str]], at: datetime) -> Set[tuple[str, str]]:
        rows = await connection_of(tx).fetch(
            _SQL["consume"], tx.tenant_id, [consumer for consumer, _ in events], [name for _, name in events], at
        )
        return {(row["consumer"], row["event_id"]) for row in rows}

    async def hold_subjects(self, tx: Transaction, keys: Sequence[str]) -> None:
        buckets = sorted({zlib.crc32(key.encode()) % _BUCKETS for key in keys})
        if buckets:
            await connection_of(tx).fetch(_SQL["hold_subjects"], tx.tenant_id, buckets)

    async def add_news(self, tx: Transaction, news: Sequence[SealedNews], kept_until: datetime) -> None:
        if news:
            await connection_of(tx).execute(
                _SQL["add_news"],
                tx.tenant_id,
                [one.subject_key for one in news],
                [one.occurred_at for one in news],
                [one.consumer for one in news],
                [one.event_id for one in news],
                [one.event_type for one in news],
                [one.cancels for one in news],
                [one.data for one in news],
                kept_until,
            )

    async def news(self, tx: Transaction, keys: Sequence[str]) -> Sequence[SealedNews]:
        if not keys:
            return []
        rows = await connection_of(tx).fetch(_SQL["news"], tx.tenant_id, sorted(set(keys)), _MOST_NEWS)
        return [
            SealedNews(
                subject_key=row["subject_key"],
                consumer=row["consumer"],
                event_id=row["event_id"],
                event_type=row["event_type"],
                occurred_at=row["occurred_at"],
                cancels=row["cancels"],
                data=row["data"],
            )
            for row in rows
        ]

    @asynccontextmanager
    async def step(self, tx: Transaction) -> AsyncGenerator[None]:
        async with connection_of(tx).transaction():
            yield


class PgFailureStore:
    """Implements `triggers.ports.FailureStore`."""

    async def note(self, tx: Transaction, failed: FailedEvent, body: bytes, dead_after: int) -> FailedEvent:
        row = await connection_of(tx).fetchrow(
            _SQL["note_failure"],
            tx.tenant_id,
            failed.consumer,
            failed.event_id,
            failed.id,
            failed.code,
            failed.problem,
            body,
            failed.failed_at,
            dead_after,
        )
        return failed if row is None else _failed(row)

    async def forget(self, tx: Transaction, consumer: str, event_id: str) -> None:
        await connection_of(tx).execute(_SQL["forget_failure"], tx.tenant_id, consumer, event_id)

    async def find(self, tx: Transaction, failure_id: UUID) -> tuple[FailedEvent, bytes] | None:
        row = await connection_of(tx).fetchrow(_SQL["find_failure"], tx.tenant_id, failure_id)
        return None if row is None else (_failed(row), row["body"])

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[FailedEvent]:
        rows = await connection_of(tx).fetch(_SQL["page_of_failures"], tx.tenant_id, before, limit)
        return [_failed(row) for row in rows]


def _failed(row: Record) -> FailedEvent:
    return FailedEvent(
        id=row["id"],
        consumer=row["consumer"],
        event_id=row["event_id"],
        attempts=row["attempts"],
        code=row["code"],
        problem=row["problem"],
        failed_at=row["failed_at"],
        dead_at=row["dead_at"],
    )
