"""Suppressions in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Connection, Record
from waypost.adapters.postgres.outbox import append_news
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.delivery.model import Bounced
from waypost.kernel.ids import first_id_at
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.outbox.model import News, OutboxKind
from waypost.suppression.model import (
    EVERY,
    NewSuppression,
    SealedAddress,
    Suppression,
    SuppressionFilter,
    SuppressionReason,
)

_SQL: Final = load("suppression")
_MILD_TO_GRAVE: Final = [reason.value for reason in sorted(SuppressionReason, key=lambda reason: reason.rank)]
_AFTER_ALL: Final = UUID(int=2**128 - 1)


class PgSuppressions:
    """Implements `suppression.ports.SuppressionStore`."""

    async def put(self, tx: Transaction, suppression_id: UUID, new: NewSuppression) -> Suppression:
        connection = connection_of(tx)
        row = await connection.fetchrow(
            _SQL["put"],
            tx.tenant_id,
            suppression_id,
            new.channel,
            new.hash,
            new.masked,
            new.reason.value,
            new.source,
            new.notification_id,
            new.expires_at,
            _MILD_TO_GRAVE,
            new.topic,
            new.notes,
            new.sealed,
        )
        if row is None:
            row = await connection.fetchrow(
                _SQL["standing"], tx.tenant_id, new.channel, new.hash, new.reason.value, new.topic
            )
            if row is None:
                raise LookupError("The suppression that stands was locked by this transaction and is gone.")
            return _suppression(row)
        await self._announce(connection, tx.tenant_id, OutboxKind.SUPPRESSION_ADDED, row["id"], new.channel, new.hash)
        return _suppression(row)

    async def find(self, tx: Transaction, suppression_id: UUID) -> Suppression | None:
        row = await connection_of(tx).fetchrow(_SQL["find"], tx.tenant_id, suppression_id)
        return None if row is None else _suppression(row)

    async def release(self, tx: Transaction, suppression_id: UUID, by: str) -> Suppression | None:
        connection = connection_of(tx)
        row = await connection.fetchrow(_SQL["release"], tx.tenant_id, suppression_id, by)
        if row is None:
            return None
        await self._announce(
            connection, tx.tenant_id, OutboxKind.SUPPRESSION_RELEASED, row["id"], row["channel"], row["hash"]
        )
        return _suppression(row)

    async def page(
        self, tx: Transaction, before: UUID | None, limit: int, wanted: SuppressionFilter = EVERY
    ) -> Sequence[Suppression]:
        reason = None if wanted.reason is None else wanted.reason.value
        asked = (tx.tenant_id, before or _AFTER_ALL, limit, wanted.channel, reason)
        if wanted.hash is None:
            rows = await connection_of(tx).fetch(_SQL["page"], *asked)
        else:
            rows = await connection_of(tx).fetch(_SQL["of_address"], *asked, wanted.hash)
        return [_suppression(row) for row in rows]

    async def of_recipient(self, tx: Transaction, external_id: str) -> Sequence[Suppression]:
        rows = await connection_of(tx).fetch(_SQL["of_recipient"], tx.tenant_id, external_id)
        return [_suppression(row) for row in rows]

    async def release_opt_out(
        self, tx: Transaction, channel: Channel, hashes: Sequence[str], topic: str, by: str
    ) -> None:
        connection = connection_of(tx)
        rows = await connection.fetch(_SQL["release_opt_out"], tx.tenant_id, channel, sorted(hashes), topic, by)
        for row in rows:
            await self._announce(
                connection, tx.tenant_id, OutboxKind.SUPPRESSION_RELEASED, row["id"], channel, row["hash"]
            )
        if topic:
            for row in await connection.fetch(_SQL["spare_topic"], tx.tenant_id, channel, sorted(hashes), topic):
                await mark_people(connection, tx.tenant_id, channel, row["hash"])

    async def reach(
        self, tx: Transaction, recipient_id: UUID, channel: Channel, address_id: UUID | None
    ) -> Sequence[SealedAddress]:
        rows = await connection_of(tx).fetch(_SQL["reach_of"], tx.tenant_id, recipient_id, channel, address_id)
        return [
            SealedAddress(
                id=row["id"],
                hash=row["hash"],
                ciphertext=row["ciphertext"],
                recipient_id=row["recipient_id"],
                data_key=row["data_key"],
            )
            for row in rows
        ]

    async def suppress_bounced(
        self,
        connection: Connection,
        tenant_id: str,
        suppression_id: UUID,
        notification_id: UUID,
        bounced: Bounced,
        now: datetime,
    ) -> None:
        """In the transaction that settles the attempt, after the notification's end has been written."""
        consequence = bounced.consequence
        if consequence.times > 1 and not await connection.fetchval(
            _SQL["has_ended_so_often"],
            tenant_id,
            notification_id,
            bounced.address_id,
            first_id_at(now - consequence.within),
            consequence.times,
        ):
            return
        row = await connection.fetchrow(
            _SQL["put_bounced"],
            tenant_id,
            suppression_id,
            notification_id,
            bounced.address_id,
            bounced.masked,
            _MILD_TO_GRAVE,
            consequence.suppression,
            consequence.lasts,
        )
        if row is not None:
            await self._announce(
                connection, tenant_id, OutboxKind.SUPPRESSION_ADDED, row["id"], row["channel"], row["hash"]
            )

    async def _announce(
        self, connection: Connection, tenant_id: str, kind: OutboxKind, suppression_id: UUID, channel: int, hash_: str
    ) -> None:
        await mark_people(connection, tenant_id, channel, hash_)
        await append_news(connection, tenant_id, [News(kind=kind, subject_id=suppression_id)])


async def mark_people(connection: Connection, tenant_id: str, channel: int, hash_: str) -> None:
    """Everyone with that address is asked about again."""
    await connection.execute(_SQL["mark_people"], tenant_id, channel, hash_)


def _suppression(row: Record) -> Suppression:
    return Suppression(
        id=row["id"],
        channel=Channel(row["channel"]),
        masked=row["masked"],
        reason=SuppressionReason(row["reason"]),
        source=row["source"],
        notification_id=row["notification_id"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        released_at=row["released_at"],
        released_by=row["released_by"],
        topic=row["topic"],
        notes=row["notes"],
    )
