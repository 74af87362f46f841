"""What has changed in a feed since a number, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.inbox.ports import OwnChange, Position, PublicPost
from waypost.kernel.work import Transaction

_SQL: Final = load("inbox_changes")


class PgInboxChanges:
    """Implements `inbox.ports.ChangeStore`."""

    async def position(self, tx: Transaction, key: str, recipient_id: UUID) -> Position | None:
        row = await connection_of(tx).fetchrow(_SQL["position"], tx.tenant_id, key, recipient_id)
        if row is None:
            return None
        return Position(
            inbox_id=row["inbox_id"], own_n=row["own_n"], public_n=row["public_n"], visible_from=row["visible_from"]
        )

    async def own_changes(
        self, tx: Transaction, inbox_id: UUID, recipient_id: UUID, since: int, limit: int
    ) -> Sequence[OwnChange]:
        rows = await connection_of(tx).fetch(_SQL["own_changes"], tx.tenant_id, inbox_id, recipient_id, since, limit)
        return [OwnChange(n=row["n"], id=row["post_id"], read_at=row["read_at"], is_new=row["is_new"]) for row in rows]

    async def public_changes(
        self, tx: Transaction, inbox_id: UUID, since: int, limit: int
    ) -> Sequence[tuple[int, UUID]]:
        rows = await connection_of(tx).fetch(_SQL["public_changes"], tx.tenant_id, inbox_id, since, limit)
        return [(row["n"], row["id"]) for row in rows]

    async def public_posts(
        self, tx: Transaction, inbox_id: UUID, ids: Sequence[UUID], now: datetime
    ) -> Sequence[PublicPost]:
        rows = await connection_of(tx).fetch(_SQL["public_posts"], tx.tenant_id, inbox_id, list(ids), now)
        return [
            PublicPost(id=row["id"], topic=row["topic"], content=row["content"], expires_at=row["expires_at"])
            for row in rows
        ]
