"""Reading timers, and dropping one by hand."""

from dataclasses import replace
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.triggers.model import Reason, TimerFilter, TimerState, TimerView
from waypost.triggers.ports import TimerStore

_LISTING: Final = "timers"


class Timers:
    def __init__(self, *, store: TimerStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(
        self, tx: Transaction, scope: Scope, wanted: TimerFilter, cursor: str | None, limit: int | None
    ) -> Page[TimerView]:
        """Newest first."""
        scope.demand(Permission.TRIGGERS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, wanted, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda view: encode_id_cursor(_LISTING, view.timer.id))

    async def get(self, tx: Transaction, scope: Scope, timer_id: UUID) -> TimerView:
        scope.demand(Permission.TRIGGERS_READ)
        view = await self._store.find(tx, timer_id)
        if view is None:
            raise NotFound("There is no such timer.")
        return view

    async def cancel(self, tx: Transaction, scope: Scope, timer_id: UUID) -> TimerView:
        """Cancelling twice is as good as once. News about its subject does not bring it back."""
        scope.demand(Permission.TRIGGERS_WRITE)
        timer = await self._store.hold(tx, timer_id)
        if timer is None:
            raise NotFound("There is no such timer.")
        if timer.state is TimerState.WAITING:
            ended = replace(
                timer, state=TimerState.CANCELLED, reason=Reason.BY_REQUEST.value, ended_at=self._clock.now()
            )
            await self._store.put(tx, [ended])
        elif timer.state is not TimerState.CANCELLED:
            raise Conflict(f"It is {timer.word} and cannot be cancelled any more.", code="not_cancellable")
        view = await self._store.find(tx, timer_id)
        if view is None:
            raise NotFound("There is no such timer.")
        return view
