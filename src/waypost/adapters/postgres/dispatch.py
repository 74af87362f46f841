"""The worker's hot path in PostgreSQL: claim and settle, one round trip each for ordinary batches."""

from collections.abc import Sequence, Set
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from waypost.adapters.postgres.connection import Connection, Record
from waypost.adapters.postgres.inbox_delivery import PgInboxDelivery
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.settlement_rows import Rest, SettlementRows
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.delivery.model import Claimed, Settlement
from waypost.delivery.ports import LeaseLost, SettleRefused
from waypost.delivery.rules import GATE_MEMORY, GATE_SLACK
from waypost.kernel.clock import Clock
from waypost.kernel.ids import first_id_at, mint, moment_of
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention

_SQL: Final = load("dispatch")
_WORK: Final = load("work")
_NO_LEASE: Final = "WP001"
# What the server or the driver says of a value it cannot store. Anything else may work when it is tried again.
_REFUSALS: Final = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    UnicodeError,
    OverflowError,
)

_CHANNELS: Final = {int(one): one for one in Channel}
_CATEGORIES: Final = {int(one): one for one in Category}
_PRIORITIES: Final = {int(one): one for one in Priority}
_RETENTIONS: Final = {int(one): one for one in Retention}


class PgDispatch:
    """Implements `delivery.ports.DispatchStore`. Claims and settlements have a connection each, so neither waits."""

    def __init__(
        self,
        *,
        claims: Line,
        settlements: Line,
        suppressions: PgSuppressions,
        clock: Clock,
        inboxes: PgInboxDelivery | None = None,
    ) -> None:
        self._inboxes = inboxes
        self._claims = claims
        self._settlements = settlements
        self._suppressions = suppressions
        self._clock = clock

    async def claim(self, worker_id: UUID, batch_id: UUID, at_most: int) -> Sequence[Claimed]:
        return self._claimed(await self._take(_SQL["claim"], worker_id, batch_id, at_most))

    async def claim_suspect(self, worker_id: UUID, batch_id: UUID) -> Claimed | None:
        claimed = self._claimed(await self._take(_SQL["claim_suspect"], worker_id, batch_id))
        return claimed[0] if claimed else None

    async def has_suspects(self) -> bool:
        async with self._claims.use() as connection:
            return await connection.fetchval(_SQL["has_suspects"])

    async def next_due(self) -> datetime | None:
        async with self._claims.use() as connection:
            return await connection.fetchval(_SQL["next_due"])

    async def settle(
        self, worker_id: UUID, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool
    ) -> Set[UUID]:
        rows = SettlementRows.of(settlements)
        arguments = (worker_id, batch_id, whole, *rows.arguments())
        try:
            async with self._settlements.use() as connection:
                if not rows.rest:
                    return {row["id"] for row in await connection.fetch(_SQL["settle"], *arguments)}
                delivered: list[tuple[str, UUID, UUID]] = []
                async with connection.transaction():
                    lost = {row["id"] for row in await connection.fetch(_SQL["settle"], *arguments)}
                    for tenant_id, rest in rows.rest.items():
                        await connection.execute(_WORK["enter_tenant"], tenant_id)
                        await self._write_rest(connection, tenant_id, rest.without(lost))
                        if self._inboxes is not None and (copies := rest.without(lost).copies):
                            delivered += await self._inboxes.deliver(connection, tenant_id, copies)
                if self._inboxes is not None and delivered:
                    self._inboxes.announce(delivered)
                return lost
        except _REFUSALS as error:
            raise SettleRefused from error

    async def _take(self, statement: str, *arguments: object) -> list[Record]:
        try:
            async with self._claims.use() as connection:
                return await connection.fetch(statement, *arguments)
        except asyncpg.PostgresError as error:
            if getattr(error, "sqlstate", None) == _NO_LEASE:
                raise LeaseLost from error
            raise

    def _claimed(self, rows: Sequence[Record]) -> list[Claimed]:
        remembered = first_id_at(self._clock.now() - GATE_MEMORY)
        return [_claimed(row, remembered) for row in rows]

    async def _write_rest(self, connection: Connection, tenant_id: str, rest: Rest) -> None:
        if rest.again:
            again = rest.again
            await connection.execute(
                _SQL["requeue"],
                [row.id for row in again],
                [row.channel for row in again],
                [row.priority for row in again],
                [row.due for row in again],
                [row.retention for row in again],
                [row.attempt for row in again],
                [row.claims for row in again],
            )
        if rest.held:
            held = [row for row, _ in rest.held]
            await connection.execute(
                _SQL["hold"],
                [row.id for row in held],
                [row.channel for row in held],
                [row.priority for row in held],
                [row.due for row in held],
                [row.retention for row in held],
                [row.attempt for row in held],
                [row.claims for row in held],
                [account for _, account in rest.held],
            )
        if rest.dead:
            dead = rest.dead
            await connection.execute(
                _SQL["bury"],
                tenant_id,
                [row.id for row in dead],
                dead[-1].id,
                [row.reason.value for row in dead],
                [row.detail for row in dead],
                [row.attempts for row in dead],
            )
        for trouble, count in (("dead_letter", len(rest.dead)), ("in_doubt", len(rest.doubts))):
            if count:
                await connection.execute(_SQL["note_trouble"], tenant_id, trouble, count)
        if rest.ends:
            ids = [held.id for held, _ in rest.ends]
            states = [end.state for _, end in rest.ends]
            await connection.execute(_SQL["end"], tenant_id, ids, ids[-1], states, [end.reason for _, end in rest.ends])
        if rest.spent:
            await connection.execute(_SQL["forget_secrets"], tenant_id, rest.spent, rest.spent[-1])
        if rest.notes:
            notes = rest.notes
            await connection.execute(
                _SQL["note"],
                tenant_id,
                [held.id for held, _ in notes],
                [held.retention for held, _ in notes],
                [mint(self._clock) for _ in notes],
                [note.event for _, note in notes],
                [note.reason for _, note in notes],
                [note.detail for _, note in notes],
                [note.once_a_day for _, note in notes],
            )
        for notification_id, bounced in rest.bounces:
            await self._suppressions.suppress_bounced(
                connection, tenant_id, mint(self._clock), notification_id, bounced, self._clock.now()
            )


def _claimed(row: Record, remembered: UUID) -> Claimed:
    """By the place of its columns, which the statements name: by name it takes three times as long."""
    (
        tenant_id,
        notification_id,
        retention,
        n,
        claims,
        channel,
        category,
        priority,
        expires_at,
        recipient_id,
        address_id,
        version_id,
        locale,
        payload,
        secrets,
        data_key,
        changed_at,
        topic,
    ) = row
    return Claimed(
        tenant_id=tenant_id,
        id=notification_id,
        retention=_RETENTIONS[retention],
        n=n,
        claims=claims,
        channel=_CHANNELS[channel],
        category=_CATEGORIES[category],
        priority=_PRIORITIES[priority],
        expires_at=expires_at,
        recipient_id=recipient_id,
        address_id=address_id,
        version_id=version_id,
        locale=locale,
        payload=payload,
        secrets=secrets,
        data_key=data_key,
        topic=topic,
        gate_changed=notification_id < remembered
        or (changed_at is not None and changed_at >= moment_of(notification_id) - GATE_SLACK),
    )
