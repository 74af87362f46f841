"""The log of what an endpoint was told, and telling it again: one delivery, a test, or a stretch of time."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.outbox.model import OutboxKind, Told
from waypost.outbox.ports import DeliveryStore, EndpointStore
from waypost.outbox.rules import PATIENCE
from waypost.outbox.webhook_model import (
    Delivery,
    DeliveryLog,
    DeliveryState,
    EndpointStatus,
    Replay,
    StoredEndpoint,
)
from waypost.tenants.audit import Audit

_LISTING: Final = "webhook-deliveries"
_MOST_REPLAYS: Final = 5
_REPLAYS: Final = "webhook-replays"


class Deliveries:
    def __init__(
        self,
        *,
        store: DeliveryStore,
        endpoints: EndpointStore,
        audit: Audit,
        clock: Clock,
        kept: timedelta = timedelta(days=7),
    ) -> None:
        self.kept = kept
        """How long news and deliveries are kept, and so how far back a replay reaches."""
        self._store = store
        self._endpoints = endpoints
        self._audit = audit
        self._clock = clock

    async def page(
        self,
        tx: Transaction,
        scope: Scope,
        endpoint_id: UUID,
        cursor: str | None,
        limit: int | None,
        *,
        state: DeliveryState | None = None,
    ) -> Page[DeliveryLog]:
        """Newest first, each with the calls that were made."""
        scope.demand(Permission.WEBHOOKS_READ)
        await self._find(tx, endpoint_id)
        size = read_limit(limit)
        before = decode_id_cursor(_LISTING, cursor)
        found = await self._store.page(tx, endpoint_id, state.value if state else None, before, size + 1)
        return page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.delivery.id))

    async def retry(self, tx: Transaction, scope: Scope, endpoint_id: UUID, delivery_id: UUID) -> DeliveryLog:
        """At once, whatever became of it before. One whose time is over gets this one more try."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        self._demand_enabled(await self._find(tx, endpoint_id))
        if await self._store.find(tx, endpoint_id, delivery_id) is None:
            raise NotFound("There is no such delivery.")
        await self._store.try_again(tx, endpoint_id, delivery_id, self._clock.now())
        detail = {"delivery": show("whd", delivery_id)}
        await self._audit.record(tx, scope, "webhook_delivery.retried", show("whe", endpoint_id), dict(detail))
        following = UUID(int=min(delivery_id.int + 1, 2**128 - 1))
        [log] = await self._store.page(tx, endpoint_id, None, following, 1)
        return log

    async def test(self, tx: Transaction, scope: Scope, endpoint_id: UUID) -> DeliveryLog:
        """One event of the type `webhook_endpoint.test`, to this endpoint alone."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        self._demand_enabled(await self._find(tx, endpoint_id))
        now = self._clock.now()
        told = Told(at=now, kind=OutboxKind.WEBHOOK_ENDPOINT_TEST, subject_id=endpoint_id, n=0)
        delivery = new_delivery(mint(self._clock), endpoint_id, told, now)
        await self._store.add(tx, [delivery], now)
        await self._audit.record(tx, scope, "webhook_endpoint.tested", show("whe", endpoint_id))
        return DeliveryLog(delivery=delivery, attempts=())

    async def replay(
        self, tx: Transaction, scope: Scope, endpoint_id: UUID, *, since: datetime, until: datetime | None = None
    ) -> Replay:
        """Everything of that time that the endpoint listens to, again and with the same ids."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        self._demand_enabled(await self._find(tx, endpoint_id, for_change=True))
        now = self._clock.now()
        end = min(until or now, now)
        if since >= end:
            raise refuse("/from", "out_of_range", "`from` must lie before `to`, and in the past.")
        if since < now - self.kept:
            raise refuse("/from", "out_of_range", f"Events are kept for {self.kept.days} days; start later.")
        running = [one for one in await self._store.replays(tx, endpoint_id, None, _MOST_REPLAYS) if not one.done]
        if len(running) >= _MOST_REPLAYS:
            raise Conflict("Too many replays are under way; wait for one to end.", code="too_many_replays")
        replay = Replay(
            id=mint(self._clock), endpoint_id=endpoint_id, since=since, until=end, position=0, added=0, done=False
        )
        await self._store.add_replay(tx, replay)
        detail = {"from": since.isoformat(), "to": end.isoformat()}
        await self._audit.record(tx, scope, "webhook_endpoint.replayed", show("whe", endpoint_id), dict(detail))
        return replay

    async def replays(
        self, tx: Transaction, scope: Scope, endpoint_id: UUID, cursor: str | None, limit: int | None
    ) -> Page[Replay]:
        """Newest first, with how far they have come."""
        scope.demand(Permission.WEBHOOKS_READ)
        await self._find(tx, endpoint_id)
        size = read_limit(limit)
        found = await self._store.replays(tx, endpoint_id, decode_id_cursor(_REPLAYS, cursor), size + 1)
        return page_of(found, size, lambda last: encode_id_cursor(_REPLAYS, last.id))

    async def _find(self, tx: Transaction, endpoint_id: UUID, *, for_change: bool = False) -> StoredEndpoint:
        found = await self._endpoints.find(tx, endpoint_id, for_change=for_change)
        if found is None:
            raise NotFound("There is no such webhook endpoint.")
        return found

    def _demand_enabled(self, endpoint: StoredEndpoint) -> None:
        if endpoint.status is not EndpointStatus.ENABLED:
            raise Conflict("This endpoint is disabled; enable it first.", code="endpoint_disabled")


def new_delivery(delivery_id: UUID, endpoint_id: UUID, told: Told, now: datetime) -> Delivery:
    return Delivery(
        id=delivery_id,
        endpoint_id=endpoint_id,
        told=told,
        state=DeliveryState.WAITING,
        attempts=0,
        due=now,
        give_up_at=now + PATIENCE,
    )
