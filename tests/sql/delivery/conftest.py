"""A post office on a real database: people, notifications to send, workers that send them, a vendor."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.dispatch import PgDispatch
from waypost.adapters.postgres.limits import PgLimits
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.adapters.postgres.upkeep import PgUpkeep
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.postgres.worker_leases import PgWorkerLeases
from waypost.channels.model import Outcome, OutgoingEmail
from waypost.channels.ports import EmailSender
from waypost.delivery.dispatch import Dispatcher
from waypost.delivery.dispatch_parts import DispatchParts
from waypost.delivery.gatekeeper import Gatekeeper
from waypost.delivery.lease import Lease
from waypost.delivery.model import Claimed, Held, QueueRow, Settlement, State
from waypost.delivery.ports import Composed, Withheld
from waypost.delivery.rescue import Rescue
from waypost.delivery.settle import Settler
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import id_at, mint
from waypost.kernel.vocabulary import Category, Channel, Priority, retention_of

LEASE = 30.0


class PlainKey:
    """Seals by turning the bytes around."""

    def seal(self, plain: bytes, bound_to: str) -> bytes:
        return plain[::-1] + bound_to.encode()

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        return sealed.removesuffix(bound_to.encode())[::-1]


class PlainComposer:
    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed | Withheld]:
        return [
            Composed(
                claimed=one,
                email=OutgoingEmail("post@waypost.example", (f"{one.recipient_id}@example.com",), one.id.bytes),
                key=PlainKey(),
            )
            for one in claimed
        ]


@dataclass
class OneSender:
    sender: EmailSender

    async def email(self, tenant_id: str) -> EmailSender:
        return self.sender


class NoPage:
    def going(self, index: int) -> None: ...

    def answered(self, index: int, outcome: Outcome) -> None: ...

    def close(self) -> None: ...


class NoJournal:
    def open_page(self, held: Sequence[Held]) -> NoPage:
        return NoPage()

    def abandoned(self) -> Sequence[Any]:
        return ()

    def dead(self) -> frozenset[UUID]:
        return frozenset()

    def close(self) -> None: ...


class SlowEar:
    """Hears nothing: the poll must do."""

    async def wait(self, seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return False


class NoTelemetry:
    def claimed(self, rows: int, seconds: float) -> None: ...

    def settled(self, settlements: Sequence[Settlement], seconds: float) -> None: ...

    def composed(self, answers: Sequence[object], seconds: float) -> None: ...

    def rescued(self, settlements: Sequence[Settlement]) -> None: ...

    def stands(self, standing: object) -> None: ...


@dataclass
class WorkerKit:
    """One worker's stores, and what is built of them."""

    id: UUID
    store: PgDispatch
    leases: PgWorkerLeases
    upkeep: PgUpkeep
    clock: SystemClock
    lines: list[Line]

    def __post_init__(self) -> None:
        self.lease = Lease(
            store=self.leases, clock=self.clock, worker_id=self.id, seconds=LEASE, tell_time=self.clock.correct
        )
        self.settler = Settler(store=self.store, clock=self.clock, worker_id=self.id)

    async def sign_on(self) -> None:
        await self.lease.renew()

    async def claim(self, at_most: int = 200) -> tuple[UUID, Sequence[Claimed]]:
        batch_id = mint(self.clock)
        return batch_id, await self.store.claim(self.id, batch_id, at_most)

    def rescue(self, shelf: Any = None, lease: Any = None) -> Rescue:
        return Rescue(
            workers=self.leases,
            store=self.store,
            shelf=shelf or NoJournal(),
            telemetry=NoTelemetry(),
            lease=lease or _Judge(),
            clock=self.clock,
            random=lambda: 0.5,
        )

    def dispatcher(self, office: "Office", vendor: EmailSender, **options: Any) -> Dispatcher:
        journal = options.pop("journal", None) or NoJournal()
        parts = DispatchParts(
            store=options.pop("store", self.store),
            gatekeeper=Gatekeeper(work=office.worker_work, delivery=office.delivery, limits=PgLimits()),
            composer=options.pop("composer", None) or PlainComposer(),
            senders=options.pop("senders", None) or OneSender(vendor),
            journal=journal,
            ear=options.pop("ear", None) or SlowEar(),
            telemetry=NoTelemetry(),
            lease=options.pop("lease", self.lease),
            settler=options.pop("settler", self.settler),
            clock=self.clock,
            capacity=options.pop("capacity", None),
            pauses=options.pop("pauses", None),
        )
        return Dispatcher(parts, worker_id=self.id, **options)


class _Judge:
    may_judge_others = True
    seconds = LEASE


@dataclass
class Office:
    api_work: PgWork
    worker_work: PgWork
    admin: asyncpg.Connection
    worker_dsn: str
    make_tenant: Callable[..., Awaitable[str]]
    clock: SystemClock = field(default_factory=SystemClock)
    rings: int = 0
    kits: list[WorkerKit] = field(default_factory=list[WorkerKit])

    def __post_init__(self) -> None:
        self.delivery = PgDelivery(clock=self.clock, ring=self._ring)
        self.suppressions = PgSuppressions()

    def _ring(self) -> None:
        self.rings += 1

    async def submit(
        self,
        count: int = 1,
        *,
        tenant: str = "acme",
        category: Category = Category.TRANSACTIONAL,
        priority: Priority = Priority.NORMAL,
        due: datetime | None = None,
        expires_in: timedelta = timedelta(hours=24),
        secrets: bytes | None = None,
        claims: int = 0,
    ) -> list[UUID]:
        now = datetime.now(UTC)
        retention = retention_of(category)
        ids = sorted(id_at(now, os.urandom(10)) for _ in range(count))
        people = [id_at(now, os.urandom(10)) for _ in range(count)]
        await self.admin.execute(
            "insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)"
            " select $1, p, p::text, 'user', 'k', now(), now() from unnest($2::uuid[]) p",
            tenant,
            people,
        )
        await self.admin.execute(
            "insert into addresses"
            " (tenant_id, id, recipient_id, channel, hash, ciphertext, status, given_at, created_at, updated_at)"
            " select $1, p, p, 1, 'sha256:' || encode(sha256(p::text::bytea), 'hex'),"
            " 'c', 'active', now(), now(), now()"
            " from unnest($2::uuid[]) p",
            tenant,
            people,
        )
        await self.admin.execute(
            "insert into notifications"
            " (tenant_id, id, retention, request_id, recipient_id, address_id, channel, category,"
            " priority, status, gate, version_id, send_at, expires_at, payload, secrets)"
            " select $1, n.id, $4, n.id, n.p, n.p, 1, $5, $6, 2, 1, n.id, $7, $8, 'payload', $9"
            " from unnest($2::uuid[], $3::uuid[]) n (id, p)",
            tenant,
            ids,
            people,
            retention,
            category,
            priority,
            due or now,
            now + expires_in,
            secrets,
        )
        async with self.api_work.begin(tenant) as tx:
            rows = [
                QueueRow(
                    id=one, channel=Channel.EMAIL, priority=priority, due=due or now, retention=retention, claims=claims
                )
                for one in ids
            ]
            await self.delivery.enqueue(tx, rows)
        return ids

    async def worker(self, *, signed_on: bool = True) -> WorkerKit:
        options = PoolOptions(application_name="worker", index_plans=True)
        lines = [Line(self.worker_dsn, options) for _ in range(4)]
        kit = WorkerKit(
            id=mint(self.clock),
            store=PgDispatch(claims=lines[0], settlements=lines[1], suppressions=self.suppressions, clock=self.clock),
            leases=PgWorkerLeases(line=lines[2], code_version=1),
            upkeep=PgUpkeep(lines[3]),
            clock=self.clock,
            lines=lines,
        )
        self.kits.append(kit)
        if signed_on:
            await kit.sign_on()
        return kit

    async def states(self, ids: Sequence[UUID], tenant: str = "acme") -> dict[UUID, State]:
        async with self.api_work.begin(tenant) as tx:
            return {one: view.state for one, view in (await self.delivery.states(tx, ids)).items()}

    async def state(self, notification_id: UUID, tenant: str = "acme") -> tuple[State, str | None]:
        async with self.api_work.begin(tenant) as tx:
            view = (await self.delivery.states(tx, [notification_id]))[notification_id]
            return view.state, view.reason

    async def count(self, table: str, where: str = "true") -> int:
        return await self.admin.fetchval(f"select count(*) from {table} where {where}")

    async def expire_lease(self, worker_id: UUID) -> None:
        await self.admin.execute(
            "update workers set lease_until = now() - interval '1 second' where id = $1", worker_id
        )

    @asynccontextmanager
    async def running(self, dispatcher: Dispatcher, grace: float = 5.0) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(dispatcher.run())
        try:
            yield task
        finally:
            if not task.done():
                await dispatcher.stop(grace)
            await task

    async def until(self, condition: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not await condition():  # noqa: ASYNC110 - the condition is in the database
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        for kit in self.kits:
            for line in kit.lines:
                await line.close()


@pytest.fixture
def plain_composer() -> PlainComposer:
    return PlainComposer()


@pytest.fixture
async def office(
    database: Any,
    api_work: PgWork,
    worker_work: PgWork,
    admin: asyncpg.Connection,
    connect: Callable[..., Awaitable[asyncpg.Connection]],
    make_tenant: Callable[..., Awaitable[str]],
) -> AsyncIterator[Office]:
    await ensure_partitions(await connect("worker"))
    await make_tenant("acme")
    office = Office(api_work, worker_work, admin, database.worker, make_tenant)
    yield office
    await office.close()
