"""Idempotency keys on PostgreSQL: the unique index is the queue in which twins wait."""

from collections.abc import Generator, Mapping, Sequence, Set
from contextlib import contextmanager
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
        with _twin_in_progress():
            claimed = await connection_of(tx).fetchval(
                _SQL["claim_key"], tx.tenant_id, key, route, fingerprint, at, self._patience
            )
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

    async def claim_many(self, tx: Transaction, route: str, wanted: Mapping[str, bytes], at: datetime) -> bool:
        with _twin_in_progress():
            said = await connection_of(tx).execute(
                _SQL["claim_keys"], tx.tenant_id, route, list(wanted), list(wanted.values()), at, self._patience
            )
        return said == f"INSERT 0 {len(wanted)}"

    async def forget_many(self, tx: Transaction, keys: Sequence[str], older_than: datetime) -> None:
        await connection_of(tx).execute(_SQL["forget_calls"], tx.tenant_id, keys, older_than)

    async def find_many(self, tx: Transaction, keys: Sequence[str]) -> Mapping[str, tuple[str, bytes]]:
        rows = await connection_of(tx).fetch(_SQL["find_calls"], tx.tenant_id, list(keys))
        return {row["key"]: (row["route"], row["fingerprint"]) for row in rows}

    async def keep_new(self, tx: Transaction, calls: Mapping[str, KeptCall]) -> Set[str]:
        kept = calls.values()
        rows = await connection_of(tx).fetch(
            _SQL["keep_new_calls"],
            tx.tenant_id,
            list(calls),
            [call.route for call in kept],
            [call.fingerprint for call in kept],
            [call.status for call in kept],
            [call.answer for call in kept],
            [call.created_at for call in kept],
        )
        return {row["key"] for row in rows}

    async def release_many(self, tx: Transaction, route: str, taken: Mapping[str, bytes]) -> None:
        await connection_of(tx).execute(_SQL["release_keys"], tx.tenant_id, route, list(taken), list(taken.values()))


@contextmanager
def _twin_in_progress() -> Generator[None]:
    try:
        yield
    except asyncpg.LockNotAvailableError as timeout:
        raise Conflict(
            "A request with this Idempotency-Key is still being worked on. Try again in a moment.",
            code="in_progress",
        ) from timeout
