"""Opens and clicks."""

from collections.abc import Sequence, Set
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.tracking import Client, pack_number
from waypost.kernel.work import Transaction
from waypost.tracking.model import Kind, Seen, SeenEntry

_SQL: Final = load("tracking")


class PgTracking:
    """Implements `tracking.ports.TrackingStore`."""

    async def add(self, tx: Transaction, seen: Sequence[Seen]) -> Set[UUID]:
        messages = sorted({one.notification_id for one in seen})
        rows = await connection_of(tx).fetch(
            _SQL["add"],
            tx.tenant_id,
            messages,
            messages[0],
            messages[-1],
            [one.id for one in seen],
            [one.notification_id for one in seen],
            [one.kind for one in seen],
            [one.at for one in seen],
            [one.client for one in seen],
            [one.link for one in seen],
            [one.target for one in seen],
            [one.version_id for one in seen],
            [pack_number(one.link, one.client) for one in seen],
        )
        return {row["id"] for row in rows}

    async def of_notification(self, tx: Transaction, notification_id: UUID, most: int) -> Sequence[SeenEntry]:
        rows = await connection_of(tx).fetch(_SQL["of_notification"], tx.tenant_id, notification_id, most)
        return [
            SeenEntry(
                id=row["id"],
                kind=Kind(row["kind"]),
                at=row["at"],
                client=Client(row["client"]),
                link=row["link"],
                target=row["target"],
            )
            for row in rows
        ]
