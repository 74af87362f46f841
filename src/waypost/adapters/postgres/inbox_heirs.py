"""One person's messages become another's, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction

_SQL: Final = load("inbox_heirs")


class PgInboxHeirs:
    """Implements `inbox.ports.HeirStore`."""

    async def inboxes_of(self, tx: Transaction, recipient_id: UUID) -> Sequence[UUID]:
        rows = await connection_of(tx).fetch(_SQL["inboxes_of"], tx.tenant_id, recipient_id)
        return [row["inbox_id"] for row in rows]

    async def data_keys(self, tx: Transaction, recipient_ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        rows = await connection_of(tx).fetch(_SQL["data_keys"], tx.tenant_id, list(recipient_ids))
        return {row["id"]: row["data_key"] for row in rows}

    async def hold_both(self, tx: Transaction, inbox_id: UUID, source: UUID, target: UUID) -> None:
        await connection_of(tx).execute(_SQL["make_place"], tx.tenant_id, inbox_id, target)
        await connection_of(tx).fetch(_SQL["hold_both"], tx.tenant_id, inbox_id, [source, target])

    async def own_copies(
        self, tx: Transaction, inbox_id: UUID, recipient_id: UUID
    ) -> Sequence[tuple[UUID, bytes | None]]:
        rows = await connection_of(tx).fetch(_SQL["own_copies"], tx.tenant_id, inbox_id, recipient_id)
        return [(row["post_id"], row["content"]) for row in rows]

    async def hand_over(
        self, tx: Transaction, inbox_id: UUID, source: UUID, target: UUID, copies: Sequence[tuple[UUID, bytes | None]]
    ) -> None:
        posts, contents = [post_id for post_id, _ in copies], [sealed for _, sealed in copies]
        connection = connection_of(tx)
        await connection.execute(_SQL["hand_over"], tx.tenant_id, inbox_id, source, target, posts, contents)
        await connection.execute(_SQL["leave"], tx.tenant_id, inbox_id, source)
