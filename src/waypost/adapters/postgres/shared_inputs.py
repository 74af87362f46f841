"""Inputs that notifications have in common, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction

_SQL: Final = load("shared_inputs")


class PgSharedInputs:
    """Implements `notifications.inputs.SharedInputsStore`."""

    async def add(self, tx: Transaction, sealed: Mapping[UUID, bytes], at: datetime) -> None:
        await connection_of(tx).execute(_SQL["add_shared"], tx.tenant_id, list(sealed), list(sealed.values()), at)

    async def sealed(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        rows = await connection_of(tx).fetch(_SQL["sealed_inputs"], tx.tenant_id, list(ids))
        return {row["id"]: row["sealed"] for row in rows}
