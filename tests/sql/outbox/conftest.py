"""A hall of messengers: a tenant with news, endpoints on loopback, and relays on a real database."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest
from tests.web_peer import WebPeer, web_peer

from waypost.adapters.outbound.guard import Guard
from waypost.adapters.outbound.http import GuardedHttp
from waypost.adapters.outbound.judgement import Judgement
from waypost.adapters.outbound.urls import WebhookUrls
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.webhook_deliveries import PgDeliveries
from waypost.adapters.postgres.webhook_endpoints import PgEndpoints
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.bootstrap.relay import relay_over
from waypost.kernel.clock import VirtualClock
from waypost.kernel.ids import mint_at
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import TenantMode
from waypost.outbox.deliveries import Deliveries
from waypost.outbox.endpoints import Endpoints
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.relay import Relay
from waypost.outbox.webhook_model import Answer, DeliveryLog, NewEndpoint
from waypost.tenants.audit import Audit


@dataclass
class Counts:
    """What the telemetry was told."""

    answers: list[Answer] = field(default_factory=list)
    events: int = 0
    refused: int = 0
    deliveries: int = 0
    waiting: dict[str, tuple[int, float]] = field(default_factory=dict)

    def called(self, answers: Sequence[Answer]) -> None:
        self.answers += answers

    def published(self, publisher: str, events: int, refused: int) -> None:
        self.events += events
        self.refused += refused

    def expanded(self, deliveries: int) -> None:
        self.deliveries += deliveries

    def behind(self, waiting: Any) -> None:
        self.waiting = dict(waiting)


@dataclass
class Hall:
    api: PgWork
    worker: PgWork
    admin: asyncpg.Connection
    vault: LocalVault
    make_tenant: Callable[..., Awaitable[str]]
    clock: VirtualClock
    peer: WebPeer
    allowed: tuple[str, ...] = ("127.0.0.0/8",)
    counts: Counts = field(default_factory=Counts)
    callers: list[GuardedHttp] = field(default_factory=list)
    timeout: float = 15.0

    def scope(self, tenant: str = "acme") -> Scope:
        return Scope(
            tenant_id=tenant,
            mode=TenantMode.SANDBOX,
            key_id=UUID(int=7),
            key_tenant=tenant,
            permissions=frozenset(Permission),
            request_id="rid_test",
        )

    def urls(self) -> WebhookUrls:
        return WebhookUrls(Guard(Judgement(self.allowed)), plain_http=False)

    @property
    def endpoints(self) -> Endpoints:
        return Endpoints(
            store=PgEndpoints(),
            deliveries=PgDeliveries(),
            urls=self.urls(),
            keyring=PgKeyring(self.vault),
            audit=Audit(PgAuditStore(), self.clock),
            clock=self.clock,
        )

    @property
    def deliveries(self) -> Deliveries:
        audit = Audit(PgAuditStore(), self.clock)
        return Deliveries(store=PgDeliveries(), endpoints=PgEndpoints(), audit=audit, clock=self.clock)

    def relay(self, *publishers: Any, caller: Any = None) -> Relay:
        if caller is None:
            caller = GuardedHttp(Guard(Judgement(self.allowed)), self.clock, timeout=self.timeout)
            self.callers.append(caller)
        return relay_over(
            work=self.worker,
            vault=self.vault,
            caller=caller,
            urls=self.urls(),
            publishers=publishers,
            telemetry=self.counts,
            clock=self.clock,
        )

    async def endpoint(
        self, path: str = "/hook", *, events: Sequence[str] = ("*",), tenant: str = "acme", url: str | None = None
    ) -> NewEndpoint:
        async with self.api.begin(tenant) as tx:
            return await self.endpoints.create(
                tx, self.scope(tenant), url=url or f"{self.peer.url}{path}", events=events, description="d"
            )

    async def notification(self, tenant: str = "acme", **metadata: Any) -> UUID:
        """A sent notification with its person, sealed as in real life."""
        now = datetime.now(UTC)
        recipient, notification = mint_at(now), mint_at(now)
        wrapped = await self.admin.fetchval("select wrapped_key from tenants where id = $1", tenant)
        key = self.vault.tenant_key(tenant, wrapped)
        data_key, opened = key.new_data_key(place("data_key", tenant, recipient))
        payload = msgspec.msgpack.encode({"address": "jane@hush.example", "context": {"x": 1}, "metadata": metadata})
        await self.admin.execute(
            "insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)"
            " values ($1, $2, $3, 'user', $4, now(), now())",
            tenant, recipient, f"user-{recipient}", data_key,
        )  # fmt: skip
        await self.admin.execute(
            "insert into notifications (tenant_id, id, retention, request_id, recipient_id, channel, category,"
            " priority, status, gate, version_id, send_at, expires_at, payload)"
            " values ($1, $2, 1, $2, $3, 1, 1, 1, 2, 1, $2, now(), now(), $4)",
            tenant, notification, recipient, opened.seal(payload, place("payload", tenant, notification)),
        )  # fmt: skip
        return notification

    async def tell(self, *subjects: UUID, kind: OutboxKind = OutboxKind.NOTIFICATION_DISPATCHED, n: int = 1,
                   tenant: str = "acme") -> None:  # fmt: skip
        async with self.worker.begin(tenant) as tx:
            await PgOutbox().append(tx, [News(kind=kind, subject_id=subject, n=n) for subject in subjects])

    async def step(self, relay: Relay) -> None:
        """One of everything, to its end."""
        await relay.replay_round()
        await relay.expand_round()
        while await relay.send_round():
            await relay.settle_turns()

    async def log(self, endpoint: UUID, tenant: str = "acme") -> Sequence[DeliveryLog]:
        async with self.api.begin(tenant) as tx:
            return (await self.deliveries.page(tx, self.scope(tenant), endpoint, None, 100)).items

    async def count(self, table: str, where: str = "true") -> int:
        return await self.admin.fetchval(f"select count(*) from {table} where {where}")

    async def later(self, hours: float = 0, **parts: float) -> None:
        await self.clock.advance(timedelta(hours=hours, **parts).total_seconds())


@pytest.fixture
async def hall(
    api_work: PgWork,
    worker_work: PgWork,
    admin: asyncpg.Connection,
    vault: LocalVault,
    make_tenant: Callable[..., Awaitable[str]],
) -> AsyncIterator[Hall]:
    await ensure_partitions(admin)
    await make_tenant("acme")
    clock = VirtualClock(datetime.now(UTC))
    async with web_peer() as peer:
        hall = Hall(
            api=api_work, worker=worker_work, admin=admin, vault=vault, make_tenant=make_tenant, clock=clock, peer=peer
        )
        yield hall
        for caller in hall.callers:
            await caller.close()
