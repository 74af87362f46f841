"""From news to deliveries: who listens to what, decided when the news is read."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint_at, moment_of
from waypost.kernel.work import Transaction, Work
from waypost.outbox.deliveries import new_delivery
from waypost.outbox.model import WEBHOOKS, Told
from waypost.outbox.patterns import kinds_of
from waypost.outbox.ports import DeliveryStore, EndpointStore, RelayTelemetry, UnreadStore

_BATCHES: Final = 20
_REPLAYED_AT_ONCE: Final = 2_000
_STRAGGLERS: Final = timedelta(hours=1)
"""How far places in the outbox and times may disagree: writers hold places in stock."""


class Expand:
    def __init__(
        self,
        *,
        work: Work,
        unread: UnreadStore,
        endpoints: EndpointStore,
        deliveries: DeliveryStore,
        telemetry: RelayTelemetry,
        clock: Clock,
    ) -> None:
        self._work = work
        self._unread = unread
        self._endpoints = endpoints
        self._deliveries = deliveries
        self._telemetry = telemetry
        self._clock = clock

    async def news(self, tenant_id: str) -> bool:
        """Some of a tenant's unread news; False where there is none. Read and delivered in one transaction."""
        async with self._work.begin(tenant_id) as tx:
            found = await self._unread.take(tx, WEBHOOKS, _BATCHES)
            if not found.batches:
                return False
            added = await self._deliver(tx, found.news, self._clock.now())
            await self._unread.finish(tx, WEBHOOKS, found.batches)
        self._telemetry.expanded(added)
        return True

    async def replay(self, tenant_id: str) -> bool:
        """One step of one replay; False where there is none to go on with."""
        async with self._work.begin(tenant_id) as tx:
            replay = await self._deliveries.next_replay(tx)
            if replay is None:
                return False
            rows = await self._unread.between(tx, replay.position, _REPLAYED_AT_ONCE)
            wanted = [told for told in rows if replay.since <= told.at < replay.until]
            added = await self._deliver(tx, wanted, self._clock.now(), only=replay.endpoint_id)
            beyond = bool(rows) and min(told.at for told in rows) > moment_of(replay.id) + _STRAGGLERS
            step = replace(
                replay,
                position=rows[-1].row if rows else replay.position,
                added=replay.added + added,
                done=beyond or len(rows) < _REPLAYED_AT_ONCE,
            )
            await self._deliveries.advance(tx, step)
        self._telemetry.expanded(added)
        return True

    async def _deliver(self, tx: Transaction, news: Sequence[Told], now: datetime, *, only: UUID | None = None) -> int:
        if not news:
            return 0
        listeners = [
            (endpoint_id, kinds_of(events))
            for endpoint_id, events in await self._endpoints.enabled(tx)
            if only is None or endpoint_id == only
        ]
        deliveries = [
            new_delivery(mint_at(now), endpoint_id, told, now)
            for told in news
            for endpoint_id, kinds in listeners
            if told.kind in kinds and told.subject_id != endpoint_id
        ]
        await self._deliveries.add(tx, deliveries, now)
        return len(deliveries)
