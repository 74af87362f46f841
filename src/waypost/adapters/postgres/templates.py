"""Templates and their versions, as authors see them, on PostgreSQL."""

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
from waypost.templates.model import (
    Approval,
    Origin,
    Profile,
    Provenance,
    Template,
    TemplateKind,
    VersionState,
)
from waypost.templates.stores import Numbers, SealedContent, SealedVersion

_SQL: Final = load("templates")
_provenance_decoder: Final = msgspec.json.Decoder(Provenance)


class PgTemplateStore:
    """Implements `templates.stores.TemplateStore`."""

    async def add(self, tx: Transaction, template: Template) -> bool:
        added = await connection_of(tx).fetchval(
            _SQL["add_template"],
            tx.tenant_id,
            template.id,
            template.key,
            template.channel.value,
            template.kind.value,
            template.category.value,
            template.topic,
            template.default_locale,
            template.name,
            template.revision,
            template.created_at,
            template.updated_at,
        )
        return added is not None

    async def find(self, tx: Transaction, key: str, channel: Channel) -> Template | None:
        row = await connection_of(tx).fetchrow(_SQL["find_template"], tx.tenant_id, key, channel.value)
        return template_of(row) if row is not None else None

    async def lock(self, tx: Transaction, key: str, channel: Channel) -> Template | None:
        row = await connection_of(tx).fetchrow(_SQL["lock_template"], tx.tenant_id, key, channel.value)
        return template_of(row) if row is not None else None

    async def page(self, tx: Transaction, owner: str, before: UUID | None, limit: int) -> Sequence[Template]:
        rows = await connection_of(tx).fetch(_SQL["page_of_templates"], owner, before, limit)
        return [template_of(row) for row in rows]

    async def change(self, tx: Transaction, template: Template) -> None:
        await connection_of(tx).execute(
            _SQL["change_template"],
            tx.tenant_id,
            template.id,
            template.category.value,
            template.topic,
            template.default_locale,
            template.name,
            template.revision,
            template.updated_at,
            template.published_at,
            template.archived_at,
        )


class PgDraftStore:
    """Implements `templates.stores.DraftStore`."""

    async def numbers(self, tx: Transaction, template_id: UUID) -> Numbers:
        rows = await connection_of(tx).fetch(_SQL["numbers_of_versions"], tx.tenant_id, template_id)
        return Numbers(
            taken=tuple(row["semver"] for row in rows),
            published=tuple(row["semver"] for row in rows if row["published"]),
        )

    async def add(self, tx: Transaction, version: SealedVersion) -> int:
        schema = version.variables_schema
        return await connection_of(tx).fetchval(
            _SQL["add_draft"],
            tx.tenant_id,
            version.id,
            version.template_id,
            version.semver,
            version.origin.value,
            version.profile.value,
            list(version.locales),
            list(version.fallback_chain),
            version.sources,
            version.sources_hash,
            None if schema is None else msgspec.json.encode(schema).decode(),
            msgspec.json.encode(version.provenance).decode(),
            version.created_by,
            version.created_at,
        )

    async def find(self, tx: Transaction, template: Template, semver: str | None) -> SealedVersion | None:
        connection = connection_of(tx)
        if semver is None:
            row = await connection.fetchrow(_SQL["find_active_version"], template.owner, template.id)
        else:
            row = await connection.fetchrow(_SQL["find_version"], template.owner, template.id, semver)
        return _version(row) if row is not None else None

    async def page(
        self, tx: Transaction, template: Template, before: int | None, limit: int
    ) -> Sequence[SealedVersion]:
        rows = await connection_of(tx).fetch(_SQL["page_of_versions"], template.owner, template.id, before, limit)
        return [_version(row) for row in rows]

    async def approve(self, tx: Transaction, version_id: UUID, approval: Approval) -> None:
        await connection_of(tx).execute(_SQL["approve_version"], tx.tenant_id, version_id, approval.by, approval.at)

    async def add_contents(self, tx: Transaction, contents: Sequence[SealedContent]) -> None:
        for version_id in dict.fromkeys(each.version_id for each in contents):
            mine = [each for each in contents if each.version_id == version_id]
            locales, sealed = [each.locale for each in mine], [each.content for each in mine]
            await connection_of(tx).execute(_SQL["add_contents"], tx.tenant_id, version_id, locales, sealed)

    async def move(self, tx: Transaction, version: SealedVersion, state: VersionState, at: datetime) -> None:
        connection = connection_of(tx)
        if state is VersionState.ACTIVE:
            await connection.execute(_SQL["archive_active"], tx.tenant_id, version.template_id)
            await connection.execute(_SQL["activate"], tx.tenant_id, version.template_id, version.id, at)
        else:
            await connection.execute(_SQL["archive_version"], tx.tenant_id, version.template_id, version.id)

    async def fragments(
        self, tx: Transaction, channel: Channel, names: Sequence[str]
    ) -> Sequence[tuple[Template, SealedVersion]]:
        rows = await connection_of(tx).fetch(_SQL["active_fragments"], tx.tenant_id, channel.value, list(names))
        return [(template_of(row, prefix="t_"), _version(row)) for row in rows]


def template_of(row: Record, prefix: str = "") -> Template:
    return Template(
        id=row[f"{prefix}id"],
        owner=row["tenant_id"],
        key=row["key"],
        channel=Channel(row["channel"]),
        kind=TemplateKind(row["kind"]),
        category=Category(row["category"]),
        topic=row["topic"],
        default_locale=row["default_locale"],
        name=row["name"],
        revision=row["revision"],
        created_at=row[f"{prefix}created_at"],
        updated_at=row["updated_at"],
        published_at=row[f"{prefix}published_at"],
        archived_at=row["archived_at"],
    )


def _version(row: Record) -> SealedVersion:
    schema = row["variables_schema"]
    return SealedVersion(
        id=row["id"],
        owner=row["tenant_id"],
        template_id=row["template_id"],
        number=row["number"],
        semver=row["semver"],
        state=VersionState(row["state"]),
        sources=row["content"],
        sources_hash=row["content_hash"],
        locales=tuple(row["locales"]),
        fallback_chain=tuple(row["fallback_chain"]),
        profile=Profile(row["profile"]),
        variables_schema=None if schema is None else msgspec.json.decode(schema),
        origin=Origin(row["source"]),
        provenance=_provenance_decoder.decode(row["provenance"]),
        created_by=row["created_by"],
        approval=None if row["approved_at"] is None else Approval(by=row["approved_by"], at=row["approved_at"]),
        created_at=row["created_at"],
        published_at=row["published_at"],
    )
