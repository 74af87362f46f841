"""Activity over time, from PostgreSQL's indexes."""

from collections.abc import Sequence, Set
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.delivery.model import State
from waypost.kernel.vocabulary import Channel, Priority
from waypost.kernel.work import Transaction
from waypost.notifications.activity import Counts, Lane, Waits

_SQL: Final = load("activity")
_ENDS: Final = (State.FAILED, State.SUPPRESSED, State.CANCELLED, State.EXPIRED, State.UNCONFIRMED)


class PgActivity:
    """Implements `notifications.activity.ActivityStore`."""

    async def counts(self, tx: Transaction, bounds: Sequence[UUID], at_most: int) -> Sequence[Counts]:
        rows = await connection_of(tx).fetch(_SQL["counts"], tx.tenant_id, list(bounds[:-1]), list(bounds[1:]), at_most)
        return [_counts(row) for row in rows]

    async def held(self, tx: Transaction) -> Set[UUID]:
        return {row["id"] for row in await connection_of(tx).fetch(_SQL["held"], tx.tenant_id)}

    async def waits(self, tx: Transaction, bounds: Sequence[UUID], sample: int) -> Sequence[Waits | None]:
        rows = await connection_of(tx).fetch(_SQL["waits"], tx.tenant_id, list(bounds[:-1]), list(bounds[1:]), sample)
        return [None if row["longest"] is None else Waits(median=row["median"], longest=row["longest"]) for row in rows]

    async def lanes(self, tx: Transaction, now: datetime, at_most: int) -> Sequence[Lane]:
        rows = await connection_of(tx).fetch(_SQL["lanes"], tx.tenant_id, now, at_most)
        return [
            Lane(
                channel=Channel(row["channel"]),
                priority=Priority(row["priority"]),
                due=row["due"],
                later=row["later"],
                oldest_due=row["oldest_due"],
            )
            for row in rows
        ]


def _counts(row: Record) -> Counts:
    return Counts(
        accepted=row["accepted"],
        queued=row["queued"],
        ended={state: row[state.word] for state in _ENDS if row[state.word]},
    )
