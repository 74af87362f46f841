"""Notifications in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.delivery.model import State
from waypost.kernel.ids import first_id_at
from waypost.kernel.ids import read as read_id
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention, retention_of
from waypost.kernel.work import Transaction
from waypost.notifications.model import Filter
from waypost.notifications.ports import StoredNotification, TimelineNote, WantedRequest, WantedRow

_SQL = load("notifications")
Value = TypeVar("Value")
_BEFORE_ALL: Final = UUID(int=0)
_AFTER_ALL: Final = UUID(int=2**128 - 1)


class PgNotifications:
    async def add_request(self, tx: Transaction, request_id: UUID, key_id: UUID, ids: Sequence[UUID]) -> None:
        await connection_of(tx).execute(_SQL["insert_request"], tx.tenant_id, request_id, key_id, list(ids))

    async def accept(
        self,
        tx: Transaction,
        requests: Sequence[WantedRequest],
        rows: Sequence[WantedRow],
    ) -> Mapping[UUID, UUID]:
        new, places = [one.row for one in rows], [one.place for one in rows]
        categories = _once([row.category for row in new])
        taken = await connection_of(tx).fetch(
            _SQL["accept"],
            [one.request.id for one in requests],
            [one.request.asker for one in requests],
            [len(one.drafts) for one in requests],
            [draft for one in requests for draft in one.drafts],
            [row.id for row in new],
            _once([row.request_id for row in new]),
            [place and place.key for place in places],
            _once([place and place.channel for place in places]),
            _once([place and place.kept_until for place in places]),
            _once([one.due for one in rows]),
            _once([retention_of(category) for category in categories]),
            [row.recipient_id for row in new],
            [row.address_id for row in new],
            _once([row.channel for row in new]),
            categories,
            _once([row.topic for row in new]),
            _once([row.priority for row in new]),
            _once([row.status for row in new]),
            _once([row.reason for row in new]),
            _once([row.gate for row in new]),
            _once([row.version_id for row in new]),
            _once([row.locale for row in new]),
            _once([row.send_at for row in new]),
            _once([row.expires_at for row in new]),
            [row.payload for row in new],
            _once([row.secrets for row in new]),
        )
        return {row["wanted"]: row["owner"] for row in taken}

    async def add_notes(self, tx: Transaction, at: datetime, notes: Sequence[TimelineNote]) -> None:
        if notes:
            await connection_of(tx).execute(
                _SQL["insert_timeline"],
                tx.tenant_id,
                at,
                [note.notification_id for note in notes],
                [note.retention for note in notes],
                [note.id for note in notes],
                [note.event for note in notes],
                [note.reason for note in notes],
                [msgspec.json.encode(note.detail).decode() for note in notes],
            )

    async def request(self, tx: Transaction, request_id: UUID) -> Sequence[UUID] | None:
        row = await connection_of(tx).fetchrow(_SQL["request"], tx.tenant_id, request_id)
        return None if row is None else row["notification_ids"]

    async def resend_of(self, tx: Transaction, notification_id: UUID) -> UUID | None:
        shown = await connection_of(tx).fetchval(_SQL["resend_of"], tx.tenant_id, notification_id)
        return None if shown is None else read_id("ntf", shown)

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, StoredNotification]:
        rows = await connection_of(tx).fetch(_SQL["by_ids"], tx.tenant_id, list(ids))
        return {row["id"]: _stored(row) for row in rows}

    async def page(self, tx: Transaction, wanted: Filter, before: UUID | None, limit: int) -> Sequence[UUID]:
        connection = connection_of(tx)
        recipient: list[UUID] | None = None
        if wanted.recipient_id is not None:
            rows = await connection.fetch(_SQL["recipient_ids"], tx.tenant_id, wanted.recipient_id)
            recipient = [row["id"] for row in rows]
            if not recipient:
                return []
        highest = _AFTER_ALL if wanted.created_before is None else first_id_at(wanted.created_before)
        bounds = (
            tx.tenant_id,
            highest if before is None else min(before, highest),
            _BEFORE_ALL if wanted.created_from is None else first_id_at(wanted.created_from),
            wanted.channel,
            wanted.category,
            limit,
        )
        match wanted.status:
            case None if recipient is None:
                rows = await connection.fetch(_SQL["page_all"], *bounds)
            case None:
                rows = await connection.fetch(_SQL["page_of_recipient"], *bounds, recipient)
            case State.SCHEDULED | State.QUEUED as status:
                rows = await connection.fetch(_SQL["page_queued"], *bounds, status is State.SCHEDULED, recipient)
            case State.DISPATCHING:
                rows = await connection.fetch(_SQL["page_dispatching"], *bounds, recipient)
            case State.DISPATCHED:
                rows = await connection.fetch(_SQL["page_dispatched"], *bounds, recipient)
            case status:
                rows = await connection.fetch(_SQL["page_ended"], *bounds, status, recipient)
        return [row["id"] for row in rows]


def _once(column: list[Value]) -> list[Value]:
    """A column as `accept` takes it: where all rows say the same, that one value."""
    return column[:1] if column and column.count(column[0]) == len(column) else column


def _stored(row: Record) -> StoredNotification:
    return StoredNotification(
        id=row["id"],
        retention=Retention(row["retention"]),
        request_id=row["request_id"],
        recipient_id=row["recipient_id"],
        external_id=row["external_id"],
        address_id=row["address_id"],
        channel=Channel(row["channel"]),
        category=Category(row["category"]),
        topic=row["topic"],
        priority=Priority(row["priority"]),
        version_id=row["version_id"],
        template_key=row["template_key"],
        locale=row["locale"],
        send_at=row["send_at"],
        expires_at=row["expires_at"],
        payload=row["payload"],
        secrets=row["secrets"],
        data_key=row["data_key"],
    )
