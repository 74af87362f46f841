"""People in the order in which they were made, for exports."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.recipients import recipient_of
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.recipients.model import StoredRecipient

_SQL: Final = load("exports")


class PgExportStore:
    """Implements `exports.ports.ExportStore`."""

    async def people(
        self, tx: Transaction, after: UUID, limit: int, *, tag: str | None, list_id: UUID | None
    ) -> Sequence[StoredRecipient]:
        connection = connection_of(tx)
        if tag is not None:
            rows = await connection.fetch(_SQL["people_with_tag_after"], tx.tenant_id, after, limit, tag)
        elif list_id is not None:
            rows = await connection.fetch(_SQL["people_in_list_after"], tx.tenant_id, after, limit, list_id)
        else:
            rows = await connection.fetch(_SQL["people_after"], tx.tenant_id, after, limit)
        return [recipient_of(row) for row in rows]

    async def count(self, tx: Transaction, *, tag: str | None, list_id: UUID | None) -> int:
        connection = connection_of(tx)
        if tag is not None:
            return await connection.fetchval(_SQL["count_with_tag"], tx.tenant_id, tag)
        if list_id is not None:
            return await connection.fetchval(_SQL["count_in_list"], tx.tenant_id, list_id)
        return await connection.fetchval(_SQL["count_people"], tx.tenant_id)
