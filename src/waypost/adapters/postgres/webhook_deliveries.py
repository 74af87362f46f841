"""Deliveries, lanes and replays in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.webhook_endpoints import PgEndpoints
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.outbox.model import Told
from waypost.outbox.rules import FULL_PACE
from waypost.outbox.webhook_model import (
    Attempt,
    Delivery,
    DeliveryLog,
    DeliveryState,
    DisabledReason,
    EndpointStatus,
    Lane,
    Replay,
    Result,
    Turn,
)

_SQL: Final = load("webhook_deliveries")
_AFTER_ALL: Final = UUID(int=2**128 - 1)
_RAMP: Final = timedelta(seconds=1)


class PgDeliveries:
    """Implements `outbox.ports.DeliveryStore`."""

    def __init__(self) -> None:
        self._endpoints = PgEndpoints()

    async def add(self, tx: Transaction, deliveries: Sequence[Delivery], now: datetime) -> None:
        if not deliveries:
            return
        connection = connection_of(tx)
        await connection.execute(
            _SQL["add"],
            tx.tenant_id,
            [one.id for one in deliveries],
            [one.endpoint_id for one in deliveries],
            [one.told.row for one in deliveries],
            [one.told.at for one in deliveries],
            [one.told.kind for one in deliveries],
            [one.told.subject_id for one in deliveries],
            [one.told.n for one in deliveries],
            [one.due for one in deliveries],
            [one.give_up_at for one in deliveries],
        )
        woken = list({one.endpoint_id for one in deliveries})
        await connection.execute(_SQL["wake_lanes"], tx.tenant_id, woken, now)

    async def find(self, tx: Transaction, endpoint_id: UUID, delivery_id: UUID) -> Delivery | None:
        row = await connection_of(tx).fetchrow(_SQL["find"], tx.tenant_id, delivery_id, endpoint_id)
        return None if row is None else _delivery(row)

    async def page(
        self, tx: Transaction, endpoint_id: UUID, state: str | None, before: UUID | None, limit: int
    ) -> Sequence[DeliveryLog]:
        connection = connection_of(tx)
        undelivered = state in (DeliveryState.WAITING, DeliveryState.FAILED)
        statement = _SQL["page_undelivered"] if undelivered else _SQL["page"]
        rows = await connection.fetch(statement, tx.tenant_id, endpoint_id, before or _AFTER_ALL, state, limit)
        made: dict[UUID, list[Attempt]] = {row["id"]: [] for row in rows}
        for row in await connection.fetch(_SQL["attempts"], tx.tenant_id, list(made)):
            made[row["delivery_id"]].append(_attempt(row))
        return [DeliveryLog(delivery=_delivery(row), attempts=made[row["id"]]) for row in rows]

    async def try_again(self, tx: Transaction, endpoint_id: UUID, delivery_id: UUID, now: datetime) -> None:
        connection = connection_of(tx)
        await connection.execute(_SQL["try_again"], tx.tenant_id, delivery_id, endpoint_id, now)
        await connection.execute(_SQL["wake_lanes"], tx.tenant_id, [endpoint_id], now)

    async def wake(self, tx: Transaction, endpoint_id: UUID, now: datetime) -> None:
        await connection_of(tx).execute(_SQL["start_afresh"], tx.tenant_id, endpoint_id, now, FULL_PACE)

    async def due_lanes(self, tx: Transaction, now: datetime, at_most: int) -> Sequence[tuple[str, UUID]]:
        rows = await connection_of(tx).fetch(_SQL["due_webhooks"], now, at_most)
        return [(row["tenant_id"], row["endpoint_id"]) for row in rows]

    async def take_turn(self, tx: Transaction, endpoint_id: UUID, now: datetime, lease_until: datetime) -> Turn | None:
        connection = connection_of(tx)
        lane = await connection.fetchrow(_SQL["lock_lane"], tx.tenant_id, endpoint_id, now)
        if lane is None:
            return None
        endpoint = await self._endpoints.find(tx, endpoint_id)
        if endpoint is None or endpoint.status is not EndpointStatus.ENABLED:
            await connection.execute(_SQL["sleep"], tx.tenant_id, endpoint_id)
            return None
        rows = await connection.fetch(_SQL["take"], tx.tenant_id, endpoint_id, now, lane["pace"], lease_until)
        # While an endpoint recovers, a turn a second is all it gets, from whoever makes it.
        not_before = now + _RAMP if lane["pace"] < FULL_PACE else lane["not_before"]
        first = lane["first_free"]
        busy_until = lease_until if rows else now
        await connection.execute(_SQL["book"], tx.tenant_id, endpoint_id, busy_until, first, not_before)
        if not rows:
            return None
        return Turn(
            endpoint=endpoint,
            lane=Lane(pace=lane["pace"], failures=lane["failures"], not_before=not_before),
            deliveries=sorted((_delivery(row) for row in rows), key=lambda one: one.due),
            place=0 if first else 1,
            lease_until=lease_until,
        )

    async def end_turn(
        self, tx: Transaction, turn: Turn, results: Sequence[Result], back: Sequence[Delivery], lane: Lane
    ) -> None:
        connection = connection_of(tx)
        await connection.execute(_SQL["hold_lane"], tx.tenant_id, turn.endpoint.id)
        if results:
            await connection.execute(
                _SQL["keep_results"],
                tx.tenant_id,
                [one.delivery.id for one in results],
                [one.delivery.attempts + 1 for one in results],
                [one.state.value for one in results],
                [one.due for one in results],
                [one.at for one in results],
                [one.answer.status for one in results],
                [one.answer.fault for one in results],
                [one.answer.latency_ms for one in results],
                [one.shown for one in results],
            )
        if back:
            await connection.execute(
                _SQL["give_back"],
                tx.tenant_id,
                [one.id for one in back],
                [one.attempts for one in back],
                [one.due for one in back],
                turn.lease_until,
            )
        await connection.execute(
            _SQL["leave"],
            tx.tenant_id,
            turn.endpoint.id,
            turn.place == 0,
            turn.lease_until,
            lane.pace,
            lane.failures,
            lane.not_before,
        )

    async def note_health(
        self,
        tx: Transaction,
        endpoint_id: UUID,
        *,
        failing_since: datetime | None,
        status: EndpointStatus,
        reason: DisabledReason | None,
        at: datetime,
    ) -> bool:
        done = await connection_of(tx).execute(
            _SQL["note_health"], tx.tenant_id, endpoint_id, failing_since, status.value, reason, at
        )
        return done.endswith(" 1")

    async def add_replay(self, tx: Transaction, replay: Replay) -> None:
        await connection_of(tx).execute(
            _SQL["add_replay"], tx.tenant_id, replay.id, replay.endpoint_id, replay.since, replay.until
        )

    async def replays(self, tx: Transaction, endpoint_id: UUID, before: UUID | None, limit: int) -> Sequence[Replay]:
        rows = await connection_of(tx).fetch(_SQL["replays"], tx.tenant_id, endpoint_id, before or _AFTER_ALL, limit)
        return [_replay(row) for row in rows]

    async def open_replays(self, tx: Transaction, at_most: int) -> Sequence[str]:
        return [row["tenant_id"] for row in await connection_of(tx).fetch(_SQL["open_replays"], at_most)]

    async def next_replay(self, tx: Transaction) -> Replay | None:
        row = await connection_of(tx).fetchrow(_SQL["next_replay"], tx.tenant_id)
        return None if row is None else _replay(row)

    async def advance(self, tx: Transaction, replay: Replay) -> None:
        await connection_of(tx).execute(
            _SQL["advance"], tx.tenant_id, replay.id, replay.position, replay.added, replay.done
        )


def _delivery(row: Record) -> Delivery:
    return Delivery(
        id=row["id"],
        endpoint_id=row["endpoint_id"],
        told=Told(at=row["at"], kind=row["kind"], subject_id=row["subject_id"], n=row["n"], row=row["outbox_id"]),
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        due=row["due"],
        give_up_at=row["give_up_at"],
    )


def _attempt(row: Record) -> Attempt:
    return Attempt(
        n=row["n"],
        at=row["at"],
        status=row["status"],
        fault=row["fault"],
        latency_ms=row["latency_ms"],
        answer=row["answer"],
    )


def _replay(row: Record) -> Replay:
    return Replay(
        id=row["id"],
        endpoint_id=row["endpoint_id"],
        since=row["since"],
        until=row["until"],
        position=row["position"],
        added=row["added"],
        done=row["done"],
    )
