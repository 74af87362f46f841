"""Dispatch batches: made, scheduled, cancelled, counted. Internal; broadcasts are made of them."""

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.campaigns.model import MOST_NAMED, Audience, Batch, BatchMessage, BatchState, Totals, check_transition
from waypost.campaigns.ports import BatchStore
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, refuse
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction

TAKEN_BACK_AT_ONCE: Final = 1_000
_BEFORE_ALL: Final = UUID(int=0)


class Batches:
    def __init__(self, *, store: BatchStore, delivery: DeliveryStore, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._delivery = delivery
        self._keyring = keyring
        self._clock = clock

    async def create(
        self,
        tx: Transaction,
        scope: Scope,
        audience: Audience,
        message: BatchMessage,
        *,
        per_minute: int | None = None,
    ) -> Batch:
        scope.demand(Permission.NOTIFICATIONS_SEND)
        if audience.narrowings > 1:
            raise refuse("/audience", "ambiguous_audience", "Give a tag, a list or ids, not several of them.")
        if audience.ids is not None and not 1 <= len(audience.ids) <= MOST_NAMED:
            raise refuse("/audience/ids", "out_of_range", f"Name 1 to {MOST_NAMED} recipients; use a list for more.")
        if (message.template is None) == (message.content is None):
            raise refuse("/message", "content_or_template", "Give either content or a template, not both.")
        if per_minute is not None and per_minute < 1:
            raise refuse("/per_minute", "out_of_range", "At least 1; leave it out for no limit.")
        batch_id = mint(self._clock)
        key = await self._keyring.of(tx)
        batch = Batch(
            id=batch_id,
            state=BatchState.DRAFT,
            audience=audience,
            message=key.seal(msgspec.msgpack.encode(message), place_of(tx.tenant_id, batch_id)),
            per_minute=per_minute,
            starts_at=None,
            place=_BEFORE_ALL,
            expanded=0,
            refused=0,
            reason=None,
            created_at=self._clock.now(),
            started_at=None,
            finished_at=None,
            failures=0,
        )
        await self._store.add(tx, batch)
        return batch

    async def schedule(self, tx: Transaction, scope: Scope, batch_id: UUID, starts_at: datetime | None = None) -> Batch:
        """Who belongs to the audience is looked up when it starts."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        batch = await self._locked(tx, batch_id)
        check_transition(batch.state, BatchState.SCHEDULED)
        now = self._clock.now()
        when = max(starts_at or now, now)
        await self._store.change(tx, batch_id, BatchState.SCHEDULED, now, starts_at=when, next_step_at=when)
        return await self._found(tx, batch_id)

    async def cancel(self, tx: Transaction, scope: Scope, batch_id: UUID) -> Batch:
        """Stops what has not gone out: some at once, the rest by workers, step by step. Twice is as good as once."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        batch = await self._locked(tx, batch_id)
        if batch.state is not BatchState.CANCELLED:
            check_transition(batch.state, BatchState.CANCELLED)
            now = self._clock.now()
            await self._store.change(tx, batch_id, BatchState.CANCELLED, now, next_step_at=now)
            await self.take_back(tx, batch)
        return await self._found(tx, batch_id)

    async def take_back(self, tx: Transaction, batch: Batch) -> bool:
        """One bounded round; whether there may be more."""
        waiting = await self._store.waiting(tx, batch.dedupe_key, TAKEN_BACK_AT_ONCE)
        if waiting:
            await self._delivery.cancel(tx, waiting)
        return len(waiting) == TAKEN_BACK_AT_ONCE

    async def totals(self, tx: Transaction, scope: Scope, batch_id: UUID) -> Totals:
        scope.demand(Permission.NOTIFICATIONS_READ)
        batch = await self._found(tx, batch_id)
        states = await self._store.totals(tx, batch.dedupe_key)
        return Totals(states=states, recipients=batch.expanded, refused=batch.refused)

    async def _locked(self, tx: Transaction, batch_id: UUID) -> Batch:
        return _there(await self._store.lock(tx, batch_id, wait=True))

    async def _found(self, tx: Transaction, batch_id: UUID) -> Batch:
        return _there(await self._store.find(tx, batch_id))


def _there(batch: Batch | None) -> Batch:
    if batch is None:
        raise NotFound("There is no such batch.")
    return batch


def place_of(tenant_id: str, batch_id: UUID) -> str:
    return f"dispatch_batches.message:{tenant_id}:{batch_id.hex}"
