"""How the queue stands, in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.delivery.queue_view import LaneView
from waypost.kernel.vocabulary import Channel, Priority
from waypost.kernel.work import Transaction

_SQL: Final = load("queue")


class PgQueue:
    """Implements `delivery.queue_view.QueueStore`."""

    async def lanes(self, tx: Transaction, at_most: int) -> Sequence[LaneView]:
        return [_lane(row) for row in await connection_of(tx).fetch(_SQL["lanes"], tx.tenant_id, at_most)]

    async def totals(self, tx: Transaction, at_most: int) -> Sequence[LaneView]:
        return [_lane(row) for row in await connection_of(tx).fetch(_SQL["totals"], at_most)]

    async def workers_alive(self, tx: Transaction) -> int:
        return await connection_of(tx).fetchval(_SQL["workers_alive"])


def _lane(row: Record) -> LaneView:
    return LaneView(
        channel=Channel(row["channel"]),
        priority=Priority(row["priority"]),
        waiting=row["waiting"],
        scheduled=row["scheduled"],
        held=row["held"],
        in_flight=row["in_flight"],
        oldest_due=row["oldest_due"],
        paused=row["paused"],
        capped=row["capped"],
    )
