"""A relay, joined to its stores, its brokers and the one way out."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

from waypost.adapters.outbound.http import GuardedHttp
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.news_subjects import PgSubjects
from waypost.adapters.postgres.outbox import PgOutbox, PgUnread
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.tenants import PgKeyring, PgTenantStore
from waypost.adapters.postgres.webhook_deliveries import PgDeliveries
from waypost.adapters.postgres.webhook_endpoints import PgEndpoints
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.clock_sync import database_clock
from waypost.bootstrap.database import worker_url
from waypost.bootstrap.inputs import inputs_of
from waypost.bootstrap.outbound import guard_of, urls_of
from waypost.bootstrap.publishers import publishers_of
from waypost.bootstrap.readiness import Readiness
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable
from waypost.kernel.vault import Vault
from waypost.kernel.work import Work
from waypost.notifications.metadata import Metadata
from waypost.outbox.describe import Describe
from waypost.outbox.expand import Expand
from waypost.outbox.ports import Caller, Publisher, RelayTelemetry, UrlCheck
from waypost.outbox.publish import Publish
from waypost.outbox.relay import Relay
from waypost.outbox.send import Send
from waypost.outbox.standing import TellRelayStanding
from waypost.settings import Settings
from waypost.tenants.platform import verify_master_key

CONNECTIONS: Final = 3
_TELL_EVERY: Final = 15.0


@asynccontextmanager
async def open_relay(
    settings: Settings, dsn: str, vault: Vault, telemetry: RelayTelemetry, clock: Clock
) -> AsyncGenerator[tuple[Relay, TellRelayStanding]]:
    """With connections of its own, so that a slow broker or endpoint never makes a sender wait."""
    async with AsyncExitStack() as stack:
        options = PoolOptions(application_name="waypost relay", min_size=0, max_size=CONNECTIONS, index_plans=True)
        pool = await open_pool(dsn, options)
        stack.push_async_callback(pool.close)
        guard = guard_of(settings)
        caller = GuardedHttp(guard, clock)
        stack.push_async_callback(caller.close)
        publishers = publishers_of(settings)
        for publisher in publishers:
            stack.push_async_callback(publisher.close)
        work = PgWork(pool)
        relay = relay_over(
            work=work,
            vault=vault,
            caller=caller,
            urls=urls_of(settings, guard),
            publishers=publishers,
            telemetry=telemetry,
            clock=clock,
        )
        yield relay, TellRelayStanding(work=work, store=PgUnread(), telemetry=telemetry, clock=clock)


def relay_over(
    *,
    work: Work,
    vault: Vault,
    caller: Caller,
    urls: UrlCheck,
    publishers: Sequence[Publisher],
    telemetry: RelayTelemetry,
    clock: Clock,
) -> Relay:
    unread, deliveries, endpoints, keyring = PgUnread(), PgDeliveries(), PgEndpoints(), PgKeyring(vault)
    metadata = Metadata(keyring=keyring, inputs=inputs_of(keyring, clock))
    describe = Describe(subjects=PgSubjects(), endpoints=endpoints, metadata=metadata, keyring=keyring)
    return Relay(
        work=work,
        unread=unread,
        deliveries=deliveries,
        expand=Expand(
            work=work, unread=unread, endpoints=endpoints, deliveries=deliveries, telemetry=telemetry, clock=clock
        ),
        send=Send(
            work=work,
            deliveries=deliveries,
            describe=describe,
            caller=caller,
            urls=urls,
            keyring=keyring,
            outbox=PgOutbox(),
            audit=PgAuditStore(),
            telemetry=telemetry,
            clock=clock,
            random=random.random,
        ),
        publishers=[
            Publish(
                publisher=publisher,
                work=work,
                unread=unread,
                describe=describe,
                telemetry=telemetry,
                clock=clock,
                random=random.random,
            )
            for publisher in publishers
        ],
        clock=clock,
    )


class LoneRelay:
    """A relay in a process of its own, which also tells how far it is behind."""

    def __init__(self, relay: Relay, tell: TellRelayStanding, clock: Clock) -> None:
        self._relay = relay
        self._tell = tell
        self._clock = clock

    async def run(self) -> None:
        telling = asyncio.create_task(self._tell_again_and_again())
        try:
            await self._relay.run()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def stop(self, grace_seconds: float) -> None:
        await self._relay.stop(grace_seconds)

    async def _tell_again_and_again(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._tell()
            await self._clock.sleep(_TELL_EVERY)


@asynccontextmanager
async def open_lone_relay(settings: Settings, telemetry: RelayTelemetry) -> AsyncGenerator[LoneRelay]:
    """Refuses to start on a schema or a master key that does not fit."""
    master = open_master_key(settings.master_key_path, create=False)
    dsn, vault = worker_url(settings, master), LocalVault(master)
    async with AsyncExitStack() as stack:
        pool = await open_pool(dsn, PoolOptions(application_name="waypost relay", min_size=0, max_size=1))
        stack.push_async_callback(pool.close)
        await Readiness(pool).check()
        await verify_master_key(PgWork(pool), PgTenantStore(), vault)
        clock = await stack.enter_async_context(database_clock(pool))
        relay, tell = await stack.enter_async_context(open_relay(settings, dsn, vault, telemetry, clock))
        yield LoneRelay(relay, tell, clock)
