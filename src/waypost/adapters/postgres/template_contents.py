"""Contents as sending needs them, on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.templates import template_of
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.templates.model import House
from waypost.templates.stores import ActiveRow, SealedContent

_SQL: Final = load("template_contents")


class PgVersionStore:
    """Implements `templates.stores.VersionStore`."""

    async def active(self, tx: Transaction, key: str, channel: Channel) -> ActiveRow | None:
        row = await connection_of(tx).fetchrow(_SQL["active_by_key"], tx.tenant_id, key, channel.value)
        if row is None:
            return None
        return ActiveRow(
            template=template_of(row),
            house=House(name=row["house_name"], locale=row["house_locale"]),
            version_id=row["version_id"],
            locales=tuple(row["locales"]),
            fallback_chain=tuple(row["fallback_chain"]),
            variables_schema=_schema(row["variables_schema"]),
        )

    async def contents(self, tx: Transaction, wanted: Sequence[tuple[UUID, str | None]]) -> Sequence[SealedContent]:
        ids, locales = [id_ for id_, _ in wanted], [locale for _, locale in wanted]
        rows = await connection_of(tx).fetch(_SQL["load_contents"], tx.tenant_id, ids, locales)
        return [
            SealedContent(
                owner=row["tenant_id"], version_id=row["version_id"], locale=row["locale"], content=row["content"]
            )
            for row in rows
        ]

    async def schemas(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, JsonObject | None]:
        rows = await connection_of(tx).fetch(_SQL["schemas"], tx.tenant_id, list(ids))
        return {row["id"]: _schema(row["variables_schema"]) for row in rows}

    async def keep_inline(self, tx: Transaction, version_id: UUID, content: bytes, hash_: bytes, at: datetime) -> UUID:
        connection = connection_of(tx)
        known: UUID | None = await connection.fetchval(_SQL["find_inline"], tx.tenant_id, hash_)
        if known is None:
            known = await connection.fetchval(_SQL["add_inline"], tx.tenant_id, version_id, content, hash_, at)
        if known is None:
            # Another transaction stored the same content and has committed by now.
            known = await connection.fetchval(_SQL["find_inline"], tx.tenant_id, hash_)
        if known is None:
            raise LookupError("inline content vanished")
        return known

    async def house(self, tx: Transaction) -> House:
        row = await connection_of(tx).fetchrow(_SQL["house"], tx.tenant_id)
        return House(name=row["name"], locale=row["locale"]) if row is not None else House(name="", locale=None)


def _schema(raw: str | None) -> JsonObject | None:
    return None if raw is None else msgspec.json.decode(raw)
