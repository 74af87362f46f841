"""The relay: reads what is unread, calls who is due, publishes in order, until it is told to stop.

Any number of relays may run. What one has begun is locked or leased in the database, and taken over when it dies.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

import structlog

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.work import Work
from waypost.outbox.expand import Expand
from waypost.outbox.model import WEBHOOKS
from waypost.outbox.ports import DeliveryStore, PublisherDown, UnreadStore
from waypost.outbox.publish import Publish
from waypost.outbox.send import Send

_log: Final = structlog.stdlib.get_logger()
_IDLE: Final = 1.0
_TROUBLE: Final = 2.0
_REGISTER_EVERY: Final = 3600.0
_SILENT: Final = timedelta(days=7)
_PLACES: Final = 256
_PLACES_PER_TENANT: Final = 8
_PLACES_PER_ENDPOINT: Final = 2
_ROUND_OF_LANES: Final = 200


class Relay:
    def __init__(
        self,
        *,
        work: Work,
        unread: UnreadStore,
        deliveries: DeliveryStore,
        expand: Expand,
        send: Send,
        publishers: Sequence[Publish],
        clock: Clock,
    ) -> None:
        self._work = work
        self._unread = unread
        self._deliveries = deliveries
        self._expand = expand
        self._send = send
        self._publishers = publishers
        self._clock = clock
        self._turns: dict[asyncio.Task[None], tuple[str, UUID]] = {}
        self._freed = asyncio.Event()
        self._ended = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._last: dict[int, str] = {}
        """By reader, the tenant that was told last: the next round begins behind it."""

    async def run(self) -> None:
        """Until cancelled, or until `stop` has let what was begun come to its end."""
        rounds: list[Callable[[], Awaitable[bool]]] = [self.expand_round, self.replay_round]
        rounds += [partial(self.publish_round, publisher) for publisher in self._publishers]
        self._loops = [asyncio.create_task(self._repeat(one)) for one in rounds]
        self._loops.append(asyncio.create_task(self._repeat(self.send_round, wake=self._freed)))
        self._loops.append(asyncio.create_task(self._keep_registered()))
        try:
            await self._ended.wait()
        finally:
            for task in [*self._loops, *self._turns]:
                task.cancel()
            await asyncio.gather(*self._loops, *self._turns, return_exceptions=True)

    async def stop(self, grace_seconds: float) -> None:
        """Begins nothing more; calls under way get so long to be answered. What is cut off is made again by another."""
        for task in self._loops:
            task.cancel()
        if self._turns:
            await asyncio.wait(list(self._turns), timeout=grace_seconds)
        self._ended.set()

    async def expand_round(self) -> bool:
        """Every tenant's news once; True where something was there."""
        found = await self._round(WEBHOOKS, self._expand.news)
        if found:
            self._freed.set()
        return found

    async def publish_round(self, publisher: Publish) -> bool:
        return await self._round(publisher.reader, publisher.news)

    async def replay_round(self) -> bool:
        async with self._work.begin(PLATFORM) as tx:
            tenants = await self._deliveries.open_replays(tx, _ROUND_OF_LANES)
        return any([await self._expand.replay(tenant) for tenant in tenants])

    async def send_round(self) -> bool:
        """Begins a turn for every endpoint that is due, as far as there is room; True where one was begun."""
        async with self._work.begin(PLATFORM) as tx:
            lanes = await self._deliveries.due_lanes(tx, self._clock.now(), _ROUND_OF_LANES)
        begun = False
        for tenant_id, endpoint_id in lanes:
            lanes_taken = list(self._turns.values())
            of_tenant = sum(tenant == tenant_id for tenant, _ in lanes_taken)
            if of_tenant >= _PLACES_PER_TENANT or lanes_taken.count((tenant_id, endpoint_id)) >= _PLACES_PER_ENDPOINT:
                continue
            while len(self._turns) >= _PLACES:
                self._freed.clear()
                await self._freed.wait()
            task = asyncio.create_task(self._take_turn(tenant_id, endpoint_id))
            self._turns[task] = (tenant_id, endpoint_id)
            task.add_done_callback(self._turn_ended)
            begun = True
        return begun

    async def settle_turns(self) -> None:
        """Waits for the calls under way; for tests and for an orderly end."""
        while self._turns:
            await asyncio.wait(list(self._turns))

    async def _take_turn(self, tenant_id: str, endpoint_id: UUID) -> None:
        try:
            await self._send.turn(tenant_id, endpoint_id)
        except Unavailable as error:
            _log.warning("relay waits", action="relay_waits", cause=error.detail)
        except Exception as error:
            _log.error("relay failed", action="relay_failed", step="send", tenant=tenant_id, kind=type(error).__name__)

    def _turn_ended(self, task: asyncio.Task[None]) -> None:
        self._turns.pop(task, None)
        self._freed.set()

    async def _round(self, reader: int, tell: Callable[[str], Awaitable[bool]]) -> bool:
        async with self._work.begin(PLATFORM) as tx:
            waiting = await self._unread.waiting(tx, reader, self._clock.now(), self._last.get(reader, ""))
        found = False
        for tenant_id in waiting:
            self._last[reader] = tenant_id
            try:
                found = await tell(tenant_id) or found
            except (Unavailable, PublisherDown):
                raise
            except Exception as error:
                # One tenant's trouble is not another's.
                kind = type(error).__name__
                _log.error("relay failed", action="relay_failed", step="read", tenant=tenant_id, kind=kind)
        return found

    async def _repeat(self, do: Callable[[], Awaitable[bool]], *, wake: asyncio.Event | None = None) -> None:
        """Again at once while there is something to do, else after a pause, or when woken."""
        while True:
            wait = _IDLE
            if wake is not None:
                wake.clear()
            try:
                if await do():
                    wait = 0.0
            except Unavailable as error:
                wait = _TROUBLE
                _log.warning("relay waits", action="relay_waits", cause=error.detail)
            except PublisherDown as down:
                wait = _TROUBLE
                _log.warning("publisher is away", action="publisher_away", cause=str(down))
            except Exception as error:
                wait = _TROUBLE
                _log.error("relay failed", action="relay_failed", step="round", kind=type(error).__name__)
            if wake is None:
                await self._clock.sleep(wait)
                continue
            pause, woken = asyncio.ensure_future(self._clock.sleep(wait)), asyncio.ensure_future(wake.wait())
            try:
                await asyncio.wait({pause, woken}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()
                woken.cancel()

    async def register(self) -> None:
        """Says which publishers there are, and forgets those that nobody has run for a week."""
        now = self._clock.now()
        async with self._work.begin(PLATFORM) as tx:
            for publisher in self._publishers:
                await self._unread.register(tx, publisher.reader, publisher.name, now)
            for name in await self._unread.forget_silent(tx, now - _SILENT):
                _log.warning("publisher forgotten", action="publisher_forgotten", publisher=name)

    async def _keep_registered(self) -> None:
        while True:
            try:
                await self.register()
            except Unavailable as error:
                _log.warning("relay waits", action="relay_waits", cause=error.detail)
                await self._clock.sleep(_TROUBLE)
                continue
            await self._clock.sleep(_REGISTER_EVERY)
