"""The trigger map on PostgreSQL, and whom and when it asks for."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.triggers.compile import compile_spec
from waypost.triggers.model import Trigger, TriggerSpec

_SQL: Final = load("triggers")
_spec: Final = msgspec.json.Decoder(TriggerSpec)


class PgTriggerStore:
    """Implements `triggers.ports.TriggerStore`."""

    async def add(self, tx: Transaction, trigger: Trigger) -> bool:
        added = await connection_of(tx).fetchval(
            _SQL["add_trigger"],
            tx.tenant_id,
            trigger.id,
            trigger.key,
            trigger.spec.event_type,
            _text(trigger.spec),
            trigger.version,
            trigger.created_at,
        )
        return added is not None

    async def find(self, tx: Transaction, trigger_id: UUID, *, for_change: bool = False) -> Trigger | None:
        statement = _SQL["find_trigger_for_change" if for_change else "find_trigger"]
        row = await connection_of(tx).fetchrow(statement, tx.tenant_id, trigger_id)
        return _trigger(row) if row is not None else None

    async def change(self, tx: Transaction, trigger: Trigger) -> None:
        await connection_of(tx).execute(
            _SQL["change_trigger"],
            tx.tenant_id,
            trigger.id,
            trigger.key,
            trigger.spec.event_type,
            _text(trigger.spec),
            trigger.version,
            trigger.updated_at,
        )

    async def remove(self, tx: Transaction, trigger_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["remove_trigger"], tx.tenant_id, trigger_id)

    async def page(self, tx: Transaction, event_type: str | None, before: UUID | None, limit: int) -> Sequence[Trigger]:
        rows = await connection_of(tx).fetch(_SQL["page_of_triggers"], tx.tenant_id, event_type, before, limit)
        return [_trigger(row) for row in rows]

    async def by_key(self, tx: Transaction, key: str) -> Sequence[Trigger]:
        rows = await connection_of(tx).fetch(_SQL["by_key"], tx.tenant_id, key)
        return [_trigger(row) for row in rows]

    async def for_types(self, tx: Transaction, types: Sequence[str]) -> Sequence[Trigger]:
        rows = await connection_of(tx).fetch(_SQL["for_types"], tx.tenant_id, list(types))
        return [_trigger(row) for row in rows]

    async def standing_for(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, Trigger]:
        found: dict[UUID, Trigger] = {}
        for row in await connection_of(tx).fetch(_SQL["standing_for"], tx.tenant_id, list(ids)) if ids else ():
            trigger = _trigger(row)
            if row["asked"] not in found or not trigger.is_platforms:
                found[row["asked"]] = trigger
        return found


class PgAudience:
    """Implements `triggers.ports.Audience`."""

    async def tagged(self, tx: Transaction, tags: Sequence[str], limit: int) -> Sequence[tuple[UUID, str]]:
        rows = await connection_of(tx).fetch(_SQL["tagged"], tx.tenant_id, list(tags), limit)
        return [(row["recipient_id"], row["external_id"]) for row in rows]


class PgZones:
    """Implements `triggers.ports.Zones`."""

    async def of(self, tx: Transaction) -> str:
        return await connection_of(tx).fetchval(_SQL["timezone"], tx.tenant_id) or "UTC"


def _text(spec: TriggerSpec) -> str:
    return msgspec.json.encode(spec).decode()


def _trigger(row: Record) -> Trigger:
    spec = _spec.decode(row["spec"])
    return Trigger(
        tenant_id=row["tenant_id"],
        id=row["id"],
        key=row["key"],
        spec=spec,
        rule=compile_spec(spec, row["key"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
