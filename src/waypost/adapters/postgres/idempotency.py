"""Idempotency keys on PostgreSQL: the unique index is the queue in which twins wait."""

from datetime import datetime
from typing import Final

import asyncpg

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.errors import Conflict
from waypost.kernel.work import Transaction
from waypost.tenants.model import KeptCall

_SQL: Final = load("idempotency")


class PgIdempotencyStore:
    """Implements `tenants.ports.IdempotencyStore`."""

    def __init__(self, *, patience_seconds: float = 5.0) -> None:
        self._patience = f"{round(patience_seconds * 1000)}ms"

    async def claim(self, tx: Transaction, key: str, route: str, fingerprint: bytes, at: datetime) -> bool:
        try:
            claimed = await connection_of(tx).fetchval(
                _SQL["claim_key"], tx.tenant_id, key, route, fingerprint, at, self._patience
            )
        except asyncpg.LockNotAvailableError as timeout:
            raise Conflict(
                "A request with this Idempotency-Key is still being worked on. Try again in a moment.",
                code="in_progress",
            ) from timeout
        return claimed is not None

    async def find(self, tx: Transaction, key: str) -> KeptCall | None:
        row = await connection_of(tx).fetchrow(_SQL["find_call"], tx.tenant_id, key)
        if row is None:
            return None
        return KeptCall(
            route=row["route"],
            fingerprint=row["fingerprint"],
            status=row["status"],
            answer=row["answer"],
            created_at=row["created_at"],
        )

    async def forget(self, tx: Transaction, key: str, older_than: datetime) -> None:
        await connection_of(tx).execute(_SQL["forget_call"], tx.tenant_id, key, older_than)

    async def keep(self, tx: Transaction, key: str, status: int, answer: bytes) -> None:
        await connection_of(tx).execute(_SQL["keep_answer"], tx.tenant_id, key, status, answer)
