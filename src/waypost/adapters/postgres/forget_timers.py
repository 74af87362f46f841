"""What an erasure does to timers, on PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.clock import Clock
from waypost.kernel.work import Transaction

_SQL: Final = load("forget_timers")


class PgForgetTimers:
    """Implements `recipients.ports.AlsoForgets`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def forget(self, tx: Transaction, ids: Sequence[UUID], hashes: Sequence[str]) -> Mapping[str, int]:
        connection, people = connection_of(tx), list(ids)
        rows = await connection.fetch(_SQL["end_timers"], tx.tenant_id, people, self._clock.now())
        await connection.execute(_SQL["drop_collected"], tx.tenant_id, [row["id"] for row in rows])
        await connection.execute(_SQL["drop_throttles"], tx.tenant_id, people)
        return {"timers": len(rows)} if rows else {}
