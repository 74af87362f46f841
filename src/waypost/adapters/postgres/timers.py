"""Timers on PostgreSQL."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgWork, connection_of
from waypost.kernel.work import Transaction
from waypost.triggers.model import Timer, TimerFilter, TimerKind, TimerState, TimerView

_SQL: Final = load("timers")
_SAMPLE: Final = 2_000
"""Due timers that are looked at one by one before tenants are looked at instead."""
_STATES: Final = {"pending": ("waiting", False), "moved": ("waiting", True)}


class PgTimerStore:
    """Implements `triggers.ports.TimerStore`."""

    async def add(self, tx: Transaction, timers: Sequence[Timer]) -> Set[UUID]:
        if not timers:
            return set()
        rows = await connection_of(tx).fetch(
            _SQL["add_timers"],
            tx.tenant_id,
            [one.id for one in timers],
            [one.kind.value for one in timers],
            [one.trigger_id for one in timers],
            [one.source for one in timers],
            [one.recipient_id for one in timers],
            [one.subject_key for one in timers],
            [one.slot for one in timers],
            [one.state.value for one in timers],
            [one.reason for one in timers],
            [one.occurred_at for one in timers],
            [one.due for one in timers],
            [one.payload for one in timers],
            [one.moved_at for one in timers],
            [one.created_at for one in timers],
            [one.ended_at for one in timers],
        )
        return {row["id"] for row in rows}

    async def of_subjects(self, tx: Transaction, keys: Sequence[str]) -> Sequence[Timer]:
        rows = await connection_of(tx).fetch(_SQL["timers_of_subjects"], tx.tenant_id, list(keys)) if keys else []
        return [timer_of(row) for row in rows]

    async def claim(self, tx: Transaction, at: datetime, at_most: int) -> Sequence[Timer]:
        rows = await connection_of(tx).fetch(_SQL["claim_timers"], tx.tenant_id, at, at_most)
        return [timer_of(row) for row in rows]

    async def claim_some(self, tx: Transaction, timer_ids: Sequence[UUID]) -> Sequence[Timer]:
        rows = await connection_of(tx).fetch(_SQL["claim_these"], tx.tenant_id, list(timer_ids))
        return [timer_of(row) for row in rows]

    async def hold(self, tx: Transaction, timer_id: UUID) -> Timer | None:
        row = await connection_of(tx).fetchrow(_SQL["hold_timer"], tx.tenant_id, timer_id)
        return timer_of(row) if row is not None else None

    async def put(self, tx: Transaction, timers: Sequence[Timer]) -> None:
        if timers:
            await connection_of(tx).execute(
                _SQL["put_timers"],
                tx.tenant_id,
                [one.id for one in timers],
                [one.state.value for one in timers],
                [one.reason for one in timers],
                [one.due for one in timers],
                [one.generation for one in timers],
                [one.tries for one in timers],
                [one.moved_at for one in timers],
                [one.request_id for one in timers],
                [one.ended_at for one in timers],
            )

    async def page(self, tx: Transaction, wanted: TimerFilter, before: UUID | None, limit: int) -> Sequence[TimerView]:
        connection = connection_of(tx)
        recipient: UUID | None = None
        if wanted.recipient is not None:
            recipient = await connection.fetchval(_SQL["recipient_named"], tx.tenant_id, wanted.recipient)
            if recipient is None:
                return []
        state, moved = _STATES.get(wanted.state or "", (wanted.state, None))
        shared = (tx.tenant_id, before, limit, state, moved, wanted.trigger_id)
        if wanted.subject_key is not None:
            rows = await connection.fetch(_SQL["page_of_subject"], *shared, wanted.subject_key, recipient)
        elif recipient is not None:
            rows = await connection.fetch(_SQL["page_of_recipient"], *shared, recipient)
        else:
            rows = await connection.fetch(_SQL["page_of_timers"], *shared)
        return [_view(row) for row in rows]

    async def find(self, tx: Transaction, timer_id: UUID) -> TimerView | None:
        row = await connection_of(tx).fetchrow(_SQL["find_timer"], tx.tenant_id, timer_id)
        return _view(row) if row is not None else None

    async def names(self, tx: Transaction, recipients: Sequence[UUID]) -> Mapping[UUID, tuple[str, bytes | None]]:
        rows = await connection_of(tx).fetch(_SQL["names"], tx.tenant_id, list(recipients)) if recipients else []
        return {row["id"]: (row["external_id"], row["data_key"]) for row in rows}


class PgDueTenants:
    """Implements `triggers.ports.DueTenants`."""

    def __init__(self, work: PgWork) -> None:
        self._work = work

    async def due_tenants(self, at: datetime, after: str, at_most: int) -> Sequence[str]:
        async with self._work.begin_unscoped() as tx:
            rows = await tx.connection.fetch(_SQL["due_tenants"], at, after, at_most, _SAMPLE)
        return [row["tenant_id"] for row in rows]


def timer_of(row: Record) -> Timer:
    return Timer(
        id=row["id"],
        kind=TimerKind(row["kind"]),
        trigger_id=row["trigger_id"],
        source=row["source"],
        recipient_id=row["recipient_id"],
        subject_key=row["subject_key"],
        slot=row["slot"],
        state=TimerState(row["state"]),
        reason=row["reason"],
        occurred_at=row["occurred_at"],
        due=row["due"],
        payload=row["payload"],
        collecting=row["collecting"],
        collected=row["collected"],
        generation=row["generation"],
        tries=row["tries"],
        moved_at=row["moved_at"],
        request_id=row["request_id"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def _view(row: Record) -> TimerView:
    return TimerView(timer=timer_of(row), recipient=row["external_id"])
