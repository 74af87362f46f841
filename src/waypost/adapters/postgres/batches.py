"""Dispatch batches in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.campaigns.model import Audience, Batch, BatchState
from waypost.delivery.model import State
from waypost.kernel.clock import Clock
from waypost.kernel.work import Transaction

_SQL: Final = load("batches")
_audience: Final = msgspec.json.Decoder(Audience)


class PgBatches:
    """Implements `campaigns.ports.BatchStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def add(self, tx: Transaction, batch: Batch) -> None:
        await connection_of(tx).execute(
            _SQL["add_batch"],
            tx.tenant_id,
            batch.id,
            batch.state.value,
            msgspec.json.encode(batch.audience).decode(),
            batch.message,
            batch.per_minute,
            batch.created_at,
        )

    async def find(self, tx: Transaction, batch_id: UUID) -> Batch | None:
        return _batch(await connection_of(tx).fetchrow(_SQL["find_batch"], tx.tenant_id, batch_id))

    async def lock(self, tx: Transaction, batch_id: UUID, *, wait: bool) -> Batch | None:
        connection = connection_of(tx)
        if wait:
            return _batch(await connection.fetchrow(_SQL["lock_batch"], tx.tenant_id, batch_id))
        return _batch(await connection.fetchrow(_SQL["try_batch"], tx.tenant_id, batch_id, self._clock.now()))

    async def change(
        self,
        tx: Transaction,
        batch_id: UUID,
        state: BatchState,
        at: datetime,
        *,
        starts_at: datetime | None = None,
        next_step_at: datetime | None = None,
        reason: str | None = None,
    ) -> None:
        await connection_of(tx).execute(
            _SQL["change_batch"], tx.tenant_id, batch_id, state.value, at, starts_at, next_step_at, reason
        )

    async def advance(
        self, tx: Transaction, batch_id: UUID, place: UUID, expanded: int, refused: int, next_step_at: datetime
    ) -> None:
        await connection_of(tx).execute(
            _SQL["advance_batch"], tx.tenant_id, batch_id, place, expanded, refused, next_step_at
        )

    async def note_failure(self, tx: Transaction, batch_id: UUID, next_step_at: datetime) -> None:
        await connection_of(tx).execute(_SQL["note_failure"], tx.tenant_id, batch_id, next_step_at)

    async def audience(self, tx: Transaction, audience: Audience, after: UUID, at_most: int) -> Sequence[UUID]:
        bounds = (tx.tenant_id, after, at_most)
        connection = connection_of(tx)
        if audience.tag is not None:
            rows = await connection.fetch(_SQL["audience_tag"], *bounds, audience.tag)
        elif audience.list_id is not None:
            rows = await connection.fetch(_SQL["audience_list"], *bounds, audience.list_id)
        elif audience.ids is not None:
            rows = await connection.fetch(_SQL["audience_ids"], *bounds, list(audience.ids))
        else:
            rows = await connection.fetch(_SQL["audience_all"], *bounds)
        return [row["id"] for row in rows]

    async def names(self, tx: Transaction, people: Sequence[UUID]) -> Sequence[str]:
        rows = await connection_of(tx).fetch(_SQL["names"], tx.tenant_id, people)
        return [row["external_id"] for row in rows]

    async def totals(self, tx: Transaction, dedupe_key: str) -> Mapping[State, int]:
        rows = await connection_of(tx).fetch(_SQL["batch_totals"], tx.tenant_id, dedupe_key)
        return {State(row["state"]): row["messages"] for row in rows}

    async def waiting(self, tx: Transaction, dedupe_key: str, at_most: int) -> Sequence[UUID]:
        rows = await connection_of(tx).fetch(_SQL["batch_waiting"], tx.tenant_id, dedupe_key, at_most)
        return [row["notification_id"] for row in rows]


class PgBatchBoard:
    """Implements `campaigns.ports.BatchBoard`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]:
        async with self._line.use() as connection:
            return [(row["tenant_id"], row["id"]) for row in await connection.fetch(_SQL["due_batches"], at_most)]


def _batch(row: Record | None) -> Batch | None:
    if row is None:
        return None
    return Batch(
        id=row["id"],
        state=BatchState(row["state"]),
        audience=_audience.decode(row["audience"]),
        message=row["message"],
        per_minute=row["per_minute"],
        starts_at=row["starts_at"],
        place=row["place"],
        expanded=row["expanded"],
        refused=row["refused"],
        reason=row["reason"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        failures=row["failures"],
    )
