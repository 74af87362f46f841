"""The audit log on PostgreSQL."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.tenants import standing_in
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.tenants.model import AuditEntry

_SQL: Final = load("audit")


class PgAuditStore:
    """Implements `tenants.ports.AuditStore`."""

    async def add(self, tx: Transaction, tenant_id: str, entry: AuditEntry) -> None:
        async with standing_in(tx, tenant_id) as connection:
            await connection.execute(
                _SQL["add_entry"],
                tenant_id,
                entry.id,
                entry.actor,
                entry.acting_as,
                entry.action,
                entry.subject,
                msgspec.json.encode(entry.detail).decode(),
                entry.request_id,
            )

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[AuditEntry]:
        rows = await connection_of(tx).fetch(_SQL["page_of_entries"], tx.tenant_id, before, limit)
        return [
            AuditEntry(
                id=row["id"],
                actor=row["actor"],
                acting_as=row["acting_as"],
                action=row["action"],
                subject=row["subject"],
                detail=msgspec.json.decode(row["detail"]),
                request_id=row["request_id"],
            )
            for row in rows
        ]
