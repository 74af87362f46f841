"""Alerts in PostgreSQL: what is open, who is told, and what is still to be said."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgWork, connection_of
from waypost.alerts.model import (
    Alert,
    AlertKind,
    StalledLane,
    StoredTarget,
    TargetKind,
    TargetStatus,
    Telling,
    TellingKind,
    Trouble,
    TroubleCount,
)
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.work import Transaction

_SQL: Final = load("alerts")
_AFTER_ALL: Final = UUID(int=2**128 - 1)
_facts: Final = msgspec.json.Decoder(dict[str, JsonValue])


class PgAlerts:
    """Implements `alerts.ports.AlertStore`."""

    async def open(
        self,
        tx: Transaction,
        alert_id: UUID,
        kind: AlertKind,
        subject: str,
        facts: Mapping[str, JsonValue],
        at: datetime,
    ) -> bool:
        written = msgspec.json.encode(facts).decode()
        return await connection_of(tx).fetchval(_SQL["open"], tx.tenant_id, alert_id, kind.value, subject, written, at)

    async def close(self, tx: Transaction, kind: AlertKind, subject: str, at: datetime) -> bool:
        closed = await connection_of(tx).fetchval(_SQL["close"], tx.tenant_id, kind.value, subject, at)
        return closed is not None

    async def open_subjects(self, tx: Transaction, kind: AlertKind) -> Set[str]:
        rows = await connection_of(tx).fetch(_SQL["open_subjects"], tx.tenant_id, kind.value)
        return {row["subject"] for row in rows}

    async def find(self, tx: Transaction, alert_id: UUID) -> Alert | None:
        row = await connection_of(tx).fetchrow(_SQL["find"], tx.tenant_id, alert_id)
        return None if row is None else _alert(row)

    async def page(
        self, tx: Transaction, *, is_open: bool | None, kind: AlertKind | None, before: UUID | None, limit: int
    ) -> Sequence[Alert]:
        rows = await connection_of(tx).fetch(
            _SQL["page"], tx.tenant_id, before or _AFTER_ALL, is_open, kind and kind.value, limit
        )
        return [_alert(row) for row in rows]

    async def due(self, tx: Transaction, now: datetime, limit: int) -> Sequence[Alert]:
        return [_alert(row) for row in await connection_of(tx).fetch(_SQL["due"], tx.tenant_id, now, limit)]

    async def note_told(self, tx: Transaction, alert_id: UUID, again_at: datetime | None, *, told: bool) -> None:
        await connection_of(tx).execute(_SQL["note_told"], tx.tenant_id, alert_id, int(told), again_at)


class PgAlertTargets:
    """Implements `alerts.ports.TargetStore`."""

    async def add(self, tx: Transaction, target: StoredTarget) -> None:
        await connection_of(tx).execute(
            _SQL["add_target"],
            tx.tenant_id,
            target.id,
            target.kind.value,
            target.target,
            target.secret,
            [kind.value for kind in target.kinds],
            target.description,
            target.status.value,
            target.version,
            target.created_at,
            target.updated_at,
        )

    async def find(self, tx: Transaction, target_id: UUID, *, for_change: bool = False) -> StoredTarget | None:
        statement = _SQL["lock_target"] if for_change else _SQL["find_target"]
        row = await connection_of(tx).fetchrow(statement, tx.tenant_id, target_id)
        return None if row is None else _target(row)

    async def all(self, tx: Transaction) -> Sequence[StoredTarget]:
        return [_target(row) for row in await connection_of(tx).fetch(_SQL["all_targets"], tx.tenant_id)]

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredTarget]:
        rows = await connection_of(tx).fetch(_SQL["page_of_targets"], tx.tenant_id, before or _AFTER_ALL, limit)
        return [_target(row) for row in rows]

    async def change(self, tx: Transaction, target: StoredTarget) -> None:
        await connection_of(tx).execute(
            _SQL["change_target"],
            tx.tenant_id,
            target.id,
            [kind.value for kind in target.kinds],
            target.description,
            target.status.value,
            target.version,
            target.updated_at,
        )

    async def remove(self, tx: Transaction, target_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["remove_target"], tx.tenant_id, target_id)

    async def note_outcome(self, tx: Transaction, target_id: UUID, at: datetime, fault: str | None) -> None:
        await connection_of(tx).execute(_SQL["note_outcome"], tx.tenant_id, target_id, at, fault)


class PgTellings:
    """Implements `alerts.ports.TellingStore`."""

    async def add(
        self, tx: Transaction, targets: Sequence[UUID], alert_id: UUID, n: int, kind: TellingKind, due: datetime
    ) -> None:
        if targets:
            await connection_of(tx).execute(
                _SQL["add_tellings"], tx.tenant_id, list(targets), alert_id, n, kind.value, due
            )

    async def take(self, tx: Transaction, now: datetime, until: datetime, limit: int) -> Sequence[Telling]:
        rows = await connection_of(tx).fetch(_SQL["take_tellings"], tx.tenant_id, now, until, limit)
        return [
            Telling(
                alert_id=row["alert_id"],
                target_id=row["target_id"],
                n=row["n"],
                kind=TellingKind(row["kind"]),
                attempts=row["attempts"],
            )
            for row in rows
        ]

    async def done(self, tx: Transaction, telling: Telling) -> None:
        await connection_of(tx).execute(
            _SQL["telling_done"], tx.tenant_id, telling.target_id, telling.alert_id, telling.n
        )

    async def put_off(self, tx: Transaction, telling: Telling, due: datetime) -> None:
        await connection_of(tx).execute(
            _SQL["put_off_telling"], tx.tenant_id, telling.target_id, telling.alert_id, telling.n, due
        )


class PgAlertBoard:
    """Implements `alerts.ports.AlertBoard`."""

    def __init__(self, work: PgWork) -> None:
        self._work = work

    async def tenants_to_tell(self, now: datetime) -> Sequence[str]:
        return [row["tenant_id"] for row in await self._ask("tenants_to_alert", now)]

    async def stalled(self, due_before: datetime) -> Sequence[StalledLane]:
        return [
            StalledLane(tenant_id=row["tenant_id"], channel=row["channel"], oldest_due=row["oldest_due"])
            for row in await self._ask("stalled_lanes", due_before)
        ]

    async def workers_alive(self) -> int:
        [row] = await self._ask("workers_alive")
        return row[0]

    async def troubles(self, since: datetime) -> Sequence[TroubleCount]:
        return [
            TroubleCount(tenant_id=row["tenant_id"], trouble=Trouble(row["trouble"]), count=row["count"])
            for row in await self._ask("recent_troubles", since)
        ]

    async def tenants_with_open(self, kinds: Sequence[AlertKind]) -> Sequence[str]:
        return [row["tenant_id"] for row in await self._ask("tenants_with_open", [kind.value for kind in kinds])]

    async def _ask(self, statement: str, *arguments: object) -> Sequence[Record]:
        async with self._work.begin_unscoped() as tx:
            return await connection_of(tx).fetch(_SQL[statement], *arguments)


def _alert(row: Record) -> Alert:
    return Alert(
        id=row["id"],
        kind=AlertKind(row["kind"]),
        subject=row["subject"],
        facts=_facts.decode(row["facts"]),
        opened_at=row["opened_at"],
        seen_at=row["seen_at"],
        told=row["told"],
        closed_at=row["closed_at"],
    )


def _target(row: Record) -> StoredTarget:
    return StoredTarget(
        id=row["id"],
        kind=TargetKind(row["kind"]),
        target=row["target"],
        secret=row["secret"],
        kinds=tuple(AlertKind(kind) for kind in row["kinds"]),
        description=row["description"],
        status=TargetStatus(row["status"]),
        last_told_at=row["last_told_at"],
        last_fault=row["last_fault"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
