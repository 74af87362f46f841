"""Inboxes, their tenant's settings, and whom tokens speak for, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.inbox.model import Figures, Inbox, InboxSettings
from waypost.inbox.ports import Standing
from waypost.kernel.work import Transaction

_SQL: Final = load("inbox")
_ttl = msgspec.json.Decoder(dict[str, str])


class PgInboxes:
    """Implements `inbox.ports.InboxStore`, `inbox.ports.VisitorStore` and `inbox.ports.Topics`."""

    async def put(self, tx: Transaction, inbox: Inbox) -> Inbox:
        row = await connection_of(tx).fetchrow(
            _SQL["put_inbox"],
            tx.tenant_id,
            inbox.id,
            inbox.key,
            inbox.title,
            inbox.description,
            msgspec.json.encode(inbox.ttl).decode(),
            inbox.created_at,
        )
        if row is None:
            raise LookupError("An upsert answered nothing.")
        return _inbox(row)

    async def find(self, tx: Transaction, key: str) -> Inbox | None:
        row = await connection_of(tx).fetchrow(_SQL["inbox"], tx.tenant_id, key)
        return None if row is None else _inbox(row)

    async def page(self, tx: Transaction, after: str, limit: int) -> Sequence[Inbox]:
        return [_inbox(row) for row in await connection_of(tx).fetch(_SQL["inboxes"], tx.tenant_id, after, limit)]

    async def figures(self, tx: Transaction, keys: Sequence[str], now: datetime, at_most: int) -> Mapping[str, Figures]:
        rows = await connection_of(tx).fetch(_SQL["figures"], tx.tenant_id, list(keys), now, at_most + 1)
        return {
            row["key"]: Figures(
                posts=row["posts"],
                copies=min(row["copies"], at_most),
                unread=min(row["unread"], at_most),
                is_partial=row["copies"] > at_most,
            )
            for row in rows
        }

    async def has(self, tx: Transaction, key: str) -> bool:
        return await connection_of(tx).fetchval(_SQL["has_topic"], tx.tenant_id, key)

    async def settings(self, tx: Transaction) -> InboxSettings:
        row = await connection_of(tx).fetchrow(_SQL["settings"], tx.tenant_id)
        if row is None:
            return InboxSettings()
        return InboxSettings(
            ttl=row["ttl"],
            visible_since=row["visible_since"],
            allowed_origins=tuple(row["allowed_origins"]),
            identity_secret=row["identity_secret"],
        )

    async def put_settings(self, tx: Transaction, settings: InboxSettings, at: datetime) -> None:
        await connection_of(tx).execute(
            _SQL["put_settings"],
            tx.tenant_id,
            settings.ttl,
            settings.visible_since,
            list(settings.allowed_origins),
            at,
        )

    async def put_identity_secret(self, tx: Transaction, sealed: bytes | None, at: datetime) -> None:
        await connection_of(tx).execute(_SQL["put_identity_secret"], tx.tenant_id, sealed, at)

    async def standing(self, tx: Transaction, recipient_id: UUID) -> Standing | None:
        row = await connection_of(tx).fetchrow(_SQL["visitor"], tx.tenant_id, recipient_id)
        if row is None:
            return None
        return Standing(recipient_id=row["id"], external_id=row["external_id"], not_before=row["not_before"])

    async def end_tokens(self, tx: Transaction, recipient_id: UUID, not_before: datetime) -> None:
        await connection_of(tx).execute(_SQL["end_tokens"], tx.tenant_id, recipient_id, not_before)


def _inbox(row: Record) -> Inbox:
    return Inbox(
        id=row["id"],
        key=row["key"],
        title=row["title"],
        description=row["description"],
        ttl=_ttl.decode(row["ttl"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
