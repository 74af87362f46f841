"""Webhook endpoints in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.outbox.rules import FULL_PACE
from waypost.outbox.webhook_model import DisabledReason, EndpointStatus, StoredEndpoint

_SQL: Final = load("webhook_endpoints")
_AFTER_ALL: Final = UUID(int=2**128 - 1)


class PgEndpoints:
    """Implements `outbox.ports.EndpointStore`."""

    async def add(self, tx: Transaction, endpoint: StoredEndpoint) -> None:
        await connection_of(tx).execute(
            _SQL["add"],
            tx.tenant_id,
            endpoint.id,
            endpoint.url,
            endpoint.secret,
            endpoint.old_secret,
            endpoint.old_secret_until,
            list(endpoint.events),
            endpoint.description,
            endpoint.status.value,
            endpoint.disabled_reason,
            endpoint.disabled_at,
            endpoint.failing_since,
            endpoint.version,
            endpoint.created_at,
            endpoint.updated_at,
            FULL_PACE,
        )

    async def find(self, tx: Transaction, endpoint_id: UUID, *, for_change: bool = False) -> StoredEndpoint | None:
        statement = _SQL["find_for_change"] if for_change else _SQL["find"]
        row = await connection_of(tx).fetchrow(statement, tx.tenant_id, endpoint_id)
        return None if row is None else stored_endpoint(row)

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredEndpoint]:
        rows = await connection_of(tx).fetch(_SQL["page"], tx.tenant_id, before or _AFTER_ALL, limit)
        return [stored_endpoint(row) for row in rows]

    async def count(self, tx: Transaction) -> int:
        connection = connection_of(tx)
        await connection.execute(_SQL["lock_adding"], tx.tenant_id)
        return await connection.fetchval(_SQL["count"], tx.tenant_id)

    async def change(self, tx: Transaction, endpoint: StoredEndpoint) -> None:
        await connection_of(tx).execute(
            _SQL["change"],
            tx.tenant_id,
            endpoint.id,
            endpoint.url,
            endpoint.secret,
            endpoint.old_secret,
            endpoint.old_secret_until,
            list(endpoint.events),
            endpoint.description,
            endpoint.status.value,
            endpoint.disabled_reason,
            endpoint.disabled_at,
            endpoint.failing_since,
            endpoint.version,
            endpoint.updated_at,
        )

    async def remove(self, tx: Transaction, endpoint_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["remove"], tx.tenant_id, endpoint_id)

    async def enabled(self, tx: Transaction) -> Sequence[tuple[UUID, tuple[str, ...]]]:
        rows = await connection_of(tx).fetch(_SQL["enabled"], tx.tenant_id)
        return [(row["id"], tuple(row["events"])) for row in rows]

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, StoredEndpoint]:
        rows = await connection_of(tx).fetch(_SQL["by_ids"], tx.tenant_id, list(ids))
        return {row["id"]: stored_endpoint(row) for row in rows}


def stored_endpoint(row: Record) -> StoredEndpoint:
    return StoredEndpoint(
        id=row["id"],
        url=row["url"],
        secret=row["secret"],
        old_secret=row["old_secret"],
        old_secret_until=row["old_secret_until"],
        events=tuple(row["events"]),
        description=row["description"],
        status=EndpointStatus(row["status"]),
        disabled_reason=DisabledReason(row["disabled_reason"]) if row["disabled_reason"] else None,
        disabled_at=row["disabled_at"],
        failing_since=row["failing_since"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
