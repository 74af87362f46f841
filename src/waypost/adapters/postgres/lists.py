"""Lists and who is in them, on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.recipients.model import Member, RecipientList

_SQL: Final = load("lists")


class PgListStore:
    """Implements `recipients.ports.ListStore`."""

    async def put(self, tx: Transaction, made: RecipientList) -> RecipientList:
        row = await connection_of(tx).fetchrow(
            _SQL["put_list"], tx.tenant_id, made.id, made.key, made.title, made.created_at, made.updated_at
        )
        if row is None:
            raise RuntimeError("A list was neither made nor changed.")
        return _list(row)

    async def find(self, tx: Transaction, key: str) -> RecipientList | None:
        row = await connection_of(tx).fetchrow(_SQL["find_list"], tx.tenant_id, key)
        return None if row is None else _list(row)

    async def page(self, tx: Transaction, after: str, limit: int) -> Sequence[RecipientList]:
        return [_list(row) for row in await connection_of(tx).fetch(_SQL["page_of_lists"], tx.tenant_id, after, limit)]

    async def remove(self, tx: Transaction, list_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["remove_list"], tx.tenant_id, list_id)

    async def members(self, tx: Transaction, list_id: UUID, before: UUID | None, limit: int) -> Sequence[Member]:
        rows = await connection_of(tx).fetch(_SQL["page_of_members"], tx.tenant_id, list_id, before, limit)
        return [
            Member(recipient_id=row["recipient_id"], external_id=row["external_id"], added_at=row["added_at"])
            for row in rows
        ]

    async def member_ids(self, tx: Transaction, list_id: UUID, limit: int) -> Sequence[str]:
        rows = await connection_of(tx).fetch(_SQL["member_ids"], tx.tenant_id, list_id, limit)
        return [row["external_id"] for row in rows]

    async def add_members(self, tx: Transaction, list_id: UUID, ids: Sequence[UUID], at: datetime) -> int:
        if not ids:
            return 0
        return _count(await connection_of(tx).execute(_SQL["add_members"], tx.tenant_id, list_id, ids, at))

    async def remove_members(self, tx: Transaction, list_id: UUID, ids: Sequence[UUID]) -> int:
        if not ids:
            return 0
        return _count(await connection_of(tx).execute(_SQL["remove_members"], tx.tenant_id, list_id, ids))

    async def of_recipient(self, tx: Transaction, recipient_id: UUID) -> Sequence[RecipientList]:
        rows = await connection_of(tx).fetch(_SQL["lists_of_recipient"], tx.tenant_id, recipient_id)
        return [_list(row) for row in rows]


def _count(status: str) -> int:
    return int(status.rsplit(" ", 1)[-1])


def _list(row: Record) -> RecipientList:
    return RecipientList(
        id=row["id"],
        key=row["key"],
        title=row["title"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
