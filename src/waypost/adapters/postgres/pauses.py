"""Pauses in PostgreSQL: as their owner sees them, as workers do, and what they do to the queue."""

from collections.abc import Callable, Sequence, Set
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Connection, Record
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.outbox import append_news
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.tenants import standing_in
from waypost.adapters.postgres.work import PgTransaction
from waypost.delivery.pause_model import Pause, PauseMark, PauseScope
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.work import Transaction
from waypost.outbox.model import News, OutboxKind

_SQL: Final = load("pauses")
_WORK: Final = load("work")
_FIRST: Final = UUID(int=0)
_AFTER_ALL: Final = UUID(int=2**128 - 1)
_AT_ONCE: Final = 5_000
_STEPS_IN_A_ROW: Final = 4
_EXISTS: Final = {PauseScope.BROADCAST: _SQL["has_batch"], PauseScope.ACCOUNT: _SQL["has_account"]}


class PgPauses:
    """Implements `delivery.pauses.PauseStore`. `ring` tells the workers, once it is committed."""

    def __init__(self, *, ring: Callable[[], None]) -> None:
        self._ring = ring

    async def add(self, tx: Transaction, tenant_id: str, pause: Pause) -> Pause:
        async with standing_in(tx, tenant_id) as connection:
            added = await connection.fetchval(
                _SQL["add_pause"],
                tenant_id,
                pause.id,
                pause.scope.value,
                pause.subject,
                pause.reason,
                pause.by_platform,
                pause.created_at,
                pause.created_by,
                None if pause.scope.stops_lanes or pause.scope is PauseScope.ACCOUNT else _FIRST,
            )
            if pause.scope.stops_lanes:
                await connection.execute(_SQL["mark_lanes"])
            elif added is not None and pause.scope is not PauseScope.ACCOUNT:
                await connection.execute(_SQL["pause_step"], pause.id, _AT_ONCE)
            row = await connection.fetchrow(
                _SQL["same_pause"], tenant_id, pause.scope.value, pause.subject, pause.by_platform
            )
        self._tell(tx)
        return pause if row is None else _pause(row)

    async def count(self, tx: Transaction, tenant_id: str) -> int:
        async with standing_in(tx, tenant_id) as connection:
            await connection.execute(_SQL["lock_pausing"], tenant_id)
            return await connection.fetchval(_SQL["count_pauses"], tenant_id)

    async def find(self, tx: Transaction, tenant_id: str, pause_id: UUID) -> Pause | None:
        async with standing_in(tx, tenant_id) as connection:
            row = await connection.fetchrow(_SQL["find_pause"], tenant_id, pause_id)
        return None if row is None else _pause(row)

    async def all(self, tx: Transaction, tenant_id: str) -> Sequence[Pause]:
        async with standing_in(tx, tenant_id) as connection:
            return [_pause(row) for row in await connection.fetch(_SQL["all_pauses"], tenant_id)]

    async def page(self, tx: Transaction, tenant_id: str, before: UUID | None, limit: int) -> Sequence[Pause]:
        async with standing_in(tx, tenant_id) as connection:
            rows = await connection.fetch(_SQL["page_of_pauses"], tenant_id, before or _AFTER_ALL, limit)
        return [_pause(row) for row in rows]

    async def resume(self, tx: Transaction, tenant_id: str, pause_id: UUID, scope: PauseScope, at_once: int) -> None:
        async with standing_in(tx, tenant_id) as connection:
            if scope.stops_lanes:
                await connection.execute(_SQL["end_lane_pause"], tenant_id, pause_id)
                await connection.execute(_SQL["mark_lanes"])
            else:
                if scope is PauseScope.ACCOUNT:
                    await connection.execute(_SQL["lock_accounts"], tenant_id)
                await connection.execute(_SQL["end_row_pause"], tenant_id, pause_id)
                await connection.execute(_SQL["pause_step"], pause_id, at_once)
        self._tell(tx)

    async def exists(self, tx: Transaction, tenant_id: str, scope: PauseScope, subject: str) -> bool:
        async with standing_in(tx, tenant_id) as connection:
            if scope in _EXISTS:
                return await connection.fetchval(_EXISTS[scope], tenant_id, UUID(hex=subject))
            return await connection.fetchval(_SQL["has_tenant"], tenant_id)

    def _tell(self, tx: Transaction) -> None:
        if isinstance(tx, PgTransaction):
            tx.after_commit(self._ring)


class PgPauseBoard:
    """Implements `delivery.pause_book.PauseBoard` on a connection of its own, so that nothing makes it wait."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def in_force(self) -> Sequence[PauseMark]:
        async with self._line.use() as connection:
            rows = await connection.fetch(_SQL["pauses_in_force"])
        return [
            PauseMark(tenant_id=row["tenant_id"], scope=PauseScope(row["scope"]), subject=row["subject"])
            for row in rows
        ]

    async def held(self, tenant_id: str, ids: Sequence[UUID]) -> Set[UUID]:
        async with self._line.use() as connection, connection.transaction():
            await connection.execute(_WORK["enter_tenant"], tenant_id)
            return {row["id"] for row in await connection.fetch(_SQL["held_ids"], list(ids))}


class PgHolds:
    """Implements `delivery.holding.HoldStore`: what pauses do to the queue, a bounded step at a time."""

    def __init__(self, line: Line, clock: Clock) -> None:
        self._line = line
        self._clock = clock
        self._walks: dict[str, UUID] = {}
        """How far the queue of each tenant that stands still has been looked through."""

    async def put_lanes_right(self) -> int:
        async with self._line.use() as connection:
            tenants = [row["tenant_id"] for row in await connection.fetch(_SQL["wrong_lanes"])]
            for tenant_id in tenants:
                async with connection.transaction():
                    await connection.execute(_WORK["enter_tenant"], tenant_id)
                    await connection.execute(_SQL["mark_lanes"])
        return len(tenants)

    async def step(self) -> bool:
        """Each pause with something to do gets one."""
        more = False
        async with self._line.use() as connection:
            for row in await connection.fetch(_SQL["pauses_at_work"]):
                async with connection.transaction():
                    await connection.execute(_WORK["enter_tenant"], row["tenant_id"])
                    more |= await connection.fetchval(_SQL["pause_step"], row["id"], _AT_ONCE)
        return more

    async def end_expired(self) -> int:
        ended = 0
        async with self._line.use() as connection:
            for row in await connection.fetch(_SQL["held_tenants"]):
                if row["has_expired"]:
                    ended += await self._end_expired(connection, row["tenant_id"])
                if row["stranded"]:
                    await self._bring_back_all(connection, row["tenant_id"])
        return ended

    async def end_expired_in_stopped_lanes(self) -> int:
        ended = 0
        async with self._line.use() as connection:
            marks = await connection.fetch(_SQL["pauses_in_force"])
            stopped = {row["tenant_id"] for row in marks if PauseScope(row["scope"]).stops_lanes}
            self._walks = {tenant_id: self._walks.get(tenant_id, _FIRST) for tenant_id in stopped}
            for tenant_id in sorted(stopped):
                for _ in range(_STEPS_IN_A_ROW):
                    ended += await self._walk(connection, tenant_id)
                    if self._walks[tenant_id] == _FIRST:
                        break
        return ended

    async def _walk(self, connection: Connection, tenant_id: str) -> int:
        """One step; behind the last row the walk begins anew."""
        async with connection.transaction():
            await connection.execute(_WORK["enter_tenant"], tenant_id)
            [step] = await connection.fetch(_SQL["walk_stopped"], tenant_id, self._walks[tenant_id], _AT_ONCE)
            over: list[UUID] | None = step["over"]
            rows = await connection.fetch(_SQL["take_stopped"], tenant_id, over) if over else []
            await self._end(connection, tenant_id, rows)
        self._walks[tenant_id] = step["place"] if step["walked"] == _AT_ONCE else _FIRST
        return len(rows)

    async def _end_expired(self, connection: Connection, tenant_id: str) -> int:
        async with connection.transaction():
            await connection.execute(_WORK["enter_tenant"], tenant_id)
            rows = await connection.fetch(_SQL["take_expired"], tenant_id, _AT_ONCE)
            await self._end(connection, tenant_id, rows)
        return len(rows)

    async def _end(self, connection: Connection, tenant_id: str, taken: Sequence[Record]) -> None:
        if not taken:
            return
        rows = sorted(taken, key=lambda row: row["id"])
        ids = [row["id"] for row in rows]
        notes = [mint(self._clock) for _ in ids]
        await connection.execute(_SQL["end_expired"], tenant_id, ids, ids[-1], notes)
        news = [News(kind=OutboxKind.NOTIFICATION_EXPIRED, subject_id=row["id"], n=row["attempt"]) for row in rows]
        await append_news(connection, tenant_id, news)

    async def _bring_back_all(self, connection: Connection, tenant_id: str) -> None:
        place: UUID | None = _FIRST
        while place is not None:
            async with connection.transaction():
                await connection.execute(_WORK["enter_tenant"], tenant_id)
                place = await connection.fetchval(_SQL["bring_back"], place, _AT_ONCE)


def _pause(row: Record) -> Pause:
    return Pause(
        id=row["id"],
        scope=PauseScope(row["scope"]),
        subject=row["subject"],
        reason=row["reason"],
        by_platform=row["by_platform"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        is_settling=row["is_settling"],
    )
