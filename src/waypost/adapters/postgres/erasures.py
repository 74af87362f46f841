"""Erasing and merging people on PostgreSQL: what goes, what moves, and the record of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.recipients.model import Erasure, WaitingMessage

_SQL: Final = load("erasures")


class PgEraseStore:
    """Implements `recipients.ports.EraseStore`."""

    async def shred(self, tx: Transaction, ids: Sequence[UUID], at: datetime) -> Mapping[str, int]:
        row = await connection_of(tx).fetchrow(_SQL["shred"], tx.tenant_id, ids, at)
        return {} if row is None else {name: row[name] for name in row.keys()}  # noqa: SIM118 — a row is no mapping

    async def add(self, tx: Transaction, erasures: Sequence[Erasure]) -> None:
        await connection_of(tx).execute(
            _SQL["add_erasures"],
            tx.tenant_id,
            [one.id_hash for one in erasures],
            [one.recipient_id for one in erasures],
            [one.id for one in erasures],
            [one.erased_at for one in erasures],
            [one.certificate for one in erasures],
        )

    async def of_keys(self, tx: Transaction, digests: Sequence[str]) -> Sequence[UUID]:
        return [row["id"] for row in await connection_of(tx).fetch(_SQL["of_keys"], tx.tenant_id, digests)]

    async def by_hash(self, tx: Transaction, id_hash: str) -> Erasure | None:
        row = await connection_of(tx).fetchrow(_SQL["erasure_of"], tx.tenant_id, id_hash)
        return None if row is None else _erasure(row)

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[Erasure]:
        rows = await connection_of(tx).fetch(_SQL["page_of_erasures"], tx.tenant_id, before, limit)
        return [_erasure(row) for row in rows]


class PgMergeStore:
    """Implements `recipients.ports.MergeStore`."""

    async def mark_merged(self, tx: Transaction, source: UUID, target: UUID, at: datetime) -> None:
        await connection_of(tx).execute(_SQL["mark_merged"], tx.tenant_id, source, target, at)

    async def move_memberships(self, tx: Transaction, source: UUID, target: UUID) -> None:
        await connection_of(tx).execute(_SQL["copy_memberships"], tx.tenant_id, source, target)
        await connection_of(tx).execute(_SQL["end_memberships"], tx.tenant_id, source)

    async def move_messages(
        self,
        tx: Transaction,
        source: UUID,
        target: UUID,
        again: Callable[[WaitingMessage], WaitingMessage],
    ) -> None:
        connection = connection_of(tx)
        if not await connection.fetchval(_SQL["was_written_to"], tx.tenant_id, source):
            return
        await connection.execute(_SQL["move_places"], tx.tenant_id, source, target)
        rows = await connection.fetch(_SQL["waiting_to_move"], tx.tenant_id, source)
        if not rows:
            return
        moved = [
            again(
                WaitingMessage(
                    id=row["id"], address_id=row["address_id"], payload=row["payload"], secrets=row["secrets"]
                )
            )
            for row in rows
        ]
        await connection.execute(
            _SQL["move_waiting"],
            tx.tenant_id,
            target,
            [one.id for one in moved],
            [one.address_id for one in moved],
            [one.payload for one in moved],
            [one.secrets for one in moved],
        )


class PgForgetMessages:
    """Implements `recipients.ports.AlsoForgets` for messages: what waits is cancelled, what lies about is deleted."""

    def __init__(self, delivery: PgDelivery) -> None:
        self._delivery = delivery

    async def forget(self, tx: Transaction, ids: Sequence[UUID], hashes: Sequence[str]) -> Mapping[str, int]:
        connection = connection_of(tx)
        waiting = [row["id"] for row in await connection.fetch(_SQL["waiting_messages"], tx.tenant_id, ids)]
        cancelled = await self._delivery.cancel(tx, waiting) if waiting else ()
        letters = await connection.execute(_SQL["forget_letters"], tx.tenant_id, ids)
        await connection.execute(_SQL["blur_suppressions"], tx.tenant_id, ids, hashes)
        exports = await connection.execute(_SQL["drop_results"], tx.tenant_id)
        return {
            "cancelled_messages": len(cancelled),
            "message_contents": await connection.fetchval(_SQL["count_messages"], tx.tenant_id, ids),
            "mailbox_copies": _count(letters),
            "export_parts": _count(exports),
        }


def _count(status: str) -> int:
    return int(status.rsplit(" ", 1)[-1])


def _erasure(row: Record) -> Erasure:
    return Erasure(
        id=row["id"],
        id_hash=row["id_hash"],
        recipient_id=row["recipient_id"],
        erased_at=row["erased_at"],
        certificate=row["certificate"],
    )
