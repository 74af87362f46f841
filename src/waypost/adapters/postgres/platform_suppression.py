"""What the platform has suppressed for all tenants, in PostgreSQL."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.suppression import mark_people
from waypost.adapters.postgres.tenants import standing_in
from waypost.adapters.postgres.work import PgTransaction, connection_of
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.suppression.model import SealedSuppression

_SQL: Final = load("platform_suppression")
_PAGE: Final = 500


class PgPlatformSuppressions:
    """Implements `suppression.ports.PlatformStore`."""

    async def lock(self, tx: Transaction) -> None:
        await connection_of(tx).execute(_SQL["lock_platform"])

    async def each_tenant(self, tx: Transaction) -> AsyncGenerator[Transaction]:
        connection, after = connection_of(tx), None
        while True:
            rows = await connection.fetch(_SQL["tenants_after"], after, _PAGE)
            for row in rows:
                after = row["id"]
                async with standing_in(tx, row["id"]):
                    yield PgTransaction(row["id"], connection)
            if len(rows) < _PAGE:
                return

    @asynccontextmanager
    async def within(self, tx: Transaction, tenant_id: str) -> AsyncGenerator[Transaction]:
        async with standing_in(tx, tenant_id) as connection:
            yield PgTransaction(tenant_id, connection)

    async def put(
        self, tx: Transaction, channel: Channel, hash_: str, suppression_id: UUID, expires_at: datetime | None
    ) -> None:
        connection = connection_of(tx)
        await connection.execute(_SQL["put_platform"], tx.tenant_id, channel, hash_, suppression_id, expires_at)
        await mark_people(connection, tx.tenant_id, channel, hash_)

    async def drop(self, tx: Transaction, suppression_id: UUID) -> None:
        connection = connection_of(tx)
        for row in await connection.fetch(_SQL["drop_platform"], tx.tenant_id, suppression_id):
            await mark_people(connection, tx.tenant_id, row["channel"], row["hash"])

    async def sealed(self, tx: Transaction, after: UUID, limit: int) -> Sequence[SealedSuppression]:
        rows = await connection_of(tx).fetch(_SQL["sealed_page"], tx.tenant_id, after, limit)
        return [
            SealedSuppression(
                id=row["id"],
                channel=Channel(row["channel"]),
                hash=row["hash"],
                expires_at=row["expires_at"],
                sealed=row["sealed"],
            )
            for row in rows
        ]
