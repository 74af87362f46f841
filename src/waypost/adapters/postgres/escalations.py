"""The messages of what goes on until seen, on PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction

_SQL: Final = load("escalations")


class PgEscalationStore:
    """Implements `triggers.ports.EscalationStore`."""

    async def add_messages(self, tx: Transaction, messages: Mapping[UUID, UUID]) -> None:
        if messages:
            await connection_of(tx).execute(_SQL["add_messages"], tx.tenant_id, list(messages), list(messages.values()))

    async def timer_of(self, tx: Transaction, notification_id: UUID) -> UUID | None:
        return await connection_of(tx).fetchval(_SQL["timer_of_message"], tx.tenant_id, notification_id)

    async def messages(self, tx: Transaction, timer_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[UUID]]:
        found: dict[UUID, list[UUID]] = {}
        if timer_ids:
            for row in await connection_of(tx).fetch(_SQL["messages_of_timers"], tx.tenant_id, list(timer_ids)):
                found.setdefault(row["timer_id"], []).append(row["notification_id"])
        return found
