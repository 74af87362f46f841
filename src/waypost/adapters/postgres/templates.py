"""Templates and versions on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.templates.model import Template, VersionState
from waypost.templates.ports import SealedVersion

_SQL: Final = load("templates")


class PgTemplateStore:
    """Implements `templates.ports.TemplateStore`."""

    async def add(self, tx: Transaction, template: Template) -> bool:
        added = await connection_of(tx).fetchval(
            _SQL["add_template"],
            tx.tenant_id,
            template.id,
            template.key,
            template.channel.value,
            template.category.value,
            template.name,
            template.created_at,
            template.updated_at,
        )
        return added is not None

    async def find(self, tx: Transaction, key: str, channel: Channel, *, for_change: bool = False) -> Template | None:
        statement = _SQL["find_template_for_change" if for_change else "find_template"]
        row = await connection_of(tx).fetchrow(statement, tx.tenant_id, key, channel.value)
        return _template(row) if row is not None else None

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[Template]:
        rows = await connection_of(tx).fetch(_SQL["page_of_templates"], tx.tenant_id, before, limit)
        return [_template(row) for row in rows]

    async def add_draft(self, tx: Transaction, version: SealedVersion) -> int:
        connection = connection_of(tx)
        schema = version.variables_schema
        number: int = await connection.fetchval(
            _SQL["add_draft"],
            tx.tenant_id,
            version.id,
            version.template_id,
            version.content,
            version.content_hash,
            None if schema is None else msgspec.json.encode(schema).decode(),
            version.created_at,
        )
        await connection.execute(_SQL["touch_template"], tx.tenant_id, version.template_id, version.created_at)
        return number

    async def version(self, tx: Transaction, template_id: UUID, number: int | None) -> SealedVersion | None:
        connection = connection_of(tx)
        if number is None:
            row = await connection.fetchrow(_SQL["find_active_version"], tx.tenant_id, template_id)
        else:
            row = await connection.fetchrow(_SQL["find_version"], tx.tenant_id, template_id, number)
        return _version(row) if row is not None else None

    async def versions(
        self, tx: Transaction, template_id: UUID, before: int | None, limit: int
    ) -> Sequence[SealedVersion]:
        rows = await connection_of(tx).fetch(_SQL["page_of_versions"], tx.tenant_id, template_id, before, limit)
        return [_version(row) for row in rows]

    async def activate(self, tx: Transaction, template_id: UUID, version_id: UUID, at: datetime) -> None:
        connection = connection_of(tx)
        await connection.execute(_SQL["archive_active"], tx.tenant_id, template_id)
        await connection.execute(_SQL["activate"], tx.tenant_id, template_id, version_id, at)
        await connection.execute(_SQL["touch_template"], tx.tenant_id, template_id, at)


class PgVersionStore:
    """Implements `templates.ports.VersionStore`."""

    async def load(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[SealedVersion]:
        rows = await connection_of(tx).fetch(_SQL["load_versions"], tx.tenant_id, list(ids))
        return [_version(row) for row in rows]

    async def active(self, tx: Transaction, key: str, channel: Channel) -> tuple[Template, SealedVersion] | None:
        row = await connection_of(tx).fetchrow(_SQL["active_by_key"], tx.tenant_id, key, channel.value)
        return None if row is None else (_template(row, prefix="t_"), _version(row))

    async def keep_inline(self, tx: Transaction, version: SealedVersion) -> UUID:
        connection = connection_of(tx)
        known: UUID | None = await connection.fetchval(_SQL["find_inline"], tx.tenant_id, version.content_hash)
        if known is None:
            known = await connection.fetchval(
                _SQL["add_inline"],
                tx.tenant_id,
                version.id,
                version.content,
                version.content_hash,
                version.created_at,
            )
        if known is None:
            # Another transaction stored the same content and has committed by now.
            known = await connection.fetchval(_SQL["find_inline"], tx.tenant_id, version.content_hash)
        if known is None:
            raise LookupError("inline content vanished")
        return known


def _template(row: Record, prefix: str = "") -> Template:
    return Template(
        id=row[f"{prefix}id"],
        key=row["key"],
        channel=Channel(row["channel"]),
        category=Category(row["category"]),
        name=row["name"],
        created_at=row[f"{prefix}created_at"],
        updated_at=row["updated_at"],
    )


def _version(row: Record) -> SealedVersion:
    schema = row["variables_schema"]
    return SealedVersion(
        id=row["id"],
        template_id=row["template_id"],
        number=row["number"],
        state=VersionState(row["state"]),
        content=row["content"],
        content_hash=row["content_hash"],
        variables_schema=None if schema is None else msgspec.json.decode(schema),
        created_at=row["created_at"],
        published_at=row["published_at"],
    )
