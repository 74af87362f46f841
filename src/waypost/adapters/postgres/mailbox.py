"""The catch-all mailbox on PostgreSQL."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.mailbox.model import SealedLetter

_SQL: Final = load("mailbox")


class PgMailboxStore:
    """Implements `mailbox.ports.MailboxStore`."""

    async def add(self, tx: Transaction, letters: Sequence[SealedLetter], most_kept: int) -> None:
        connection = connection_of(tx)
        await connection.execute(
            _SQL["add_letters"],
            tx.tenant_id,
            [letter.id for letter in letters],
            [letter.summary for letter in letters],
            [letter.raw for letter in letters],
            [letter.notification_id for letter in letters],
        )
        await connection.execute(_SQL["make_room"], tx.tenant_id, most_kept)

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[tuple[UUID, bytes]]:
        rows = await connection_of(tx).fetch(_SQL["page_of_letters"], tx.tenant_id, before, limit)
        return [(row["id"], row["summary"]) for row in rows]

    async def raw(self, tx: Transaction, letter_id: UUID) -> bytes | None:
        return await connection_of(tx).fetchval(_SQL["raw_letter"], tx.tenant_id, letter_id)
