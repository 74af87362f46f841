"""Events and timers on a real database, as the two roles see them: the API takes events in, the worker fires timers.

Templates are the platform's, so that a thousand tenants share one.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.bootstrap.events import join_events, join_firing, join_intake
from waypost.bootstrap.submitting import JoinedSubmit, join_submit
from waypost.bootstrap.templates import templates_of
from waypost.delivery.model import State
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.notifications.model import Accepted
from waypost.templates.catalog import NewTemplate
from waypost.templates.drafting import NewVersion
from waypost.templates.model import Format, LocaleSource, Written
from waypost.templates.versions import Versions
from waypost.triggers.desk import EventDesk
from waypost.triggers.fire import Firing
from waypost.triggers.model import Event, Taken, TriggerSpec


class NoTelemetry:
    def __init__(self) -> None:
        self.ended: dict[tuple[str, str], int] = {}

    def accepted(self, accepted: Sequence[Accepted], seconds: float) -> None: ...

    def fanned_out(self, channel: Channel, status: State, count: int, seconds: float) -> None: ...

    def taken(self, accepted: int, duplicates: int, refused: int) -> None: ...

    def fired(self, word: str, reason: str, count: int) -> None:
        self.ended[word, reason] = self.ended.get((word, reason), 0) + count

    def ticked(self, seconds: float) -> None: ...

    def consumed(self, outcome: str) -> None: ...


class SkewedClock(SystemClock):
    """The system's, put forward."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


def scope_of(tenant: str) -> Scope:
    return Scope(
        tenant_id=tenant,
        mode=TenantMode.SANDBOX,
        key_id=mint(SystemClock()),
        key_tenant=tenant,
        permissions=frozenset(Permission),
        request_id="rid_test",
    )


@dataclass
class Bureau:
    """One installation: `desk` works as the API's role, `firing` as the worker's."""

    api_work: PgWork
    worker_work: PgWork
    admin: asyncpg.Connection
    vault: LocalVault
    renderer: RenderPool
    make_tenant: Callable[..., Awaitable[str]]
    clock: SkewedClock = field(default_factory=SkewedClock)
    telemetry: NoTelemetry = field(default_factory=NoTelemetry)

    def __post_init__(self) -> None:
        self.audit: Any = _NoAudit()
        self.keyring = PgKeyring(self.vault)
        self.delivery = PgDelivery(clock=self.clock, ring=lambda: None)
        self.versions = Versions(store=PgVersionStore(), renderer=self.renderer, keyring=self.keyring, clock=self.clock)
        self.joined = self._join()
        self.desk: EventDesk = join_events(
            joined=self.joined,
            submit=self.joined.submit,
            keyring=self.keyring,
            versions=self.versions,
            audit=self.audit,
            telemetry=self.telemetry,
            clock=self.clock,
        )
        self.firing: Firing = self.another_firing()
        self.intake = join_intake(
            work=self.worker_work,
            joined=self._join(),
            keyring=self.keyring,
            telemetry=self.telemetry,
            clock=self.clock,
        )

    def scope_of(self, tenant: str) -> Scope:
        return scope_of(tenant)

    def _join(self) -> JoinedSubmit:
        return join_submit(
            versions=self.versions,
            renderer=self.renderer,
            keyring=self.keyring,
            delivery=self.delivery,
            telemetry=self.telemetry,
            clock=self.clock,
        )

    def another_firing(self) -> Firing:
        return join_firing(
            work=self.worker_work,
            joined=self._join(),
            delivery=self.delivery,
            keyring=self.keyring,
            telemetry=self.telemetry,
            clock=self.clock,
        )

    async def publish(self, key: str = "reminder", channel: Channel = Channel.EMAIL, text: str = "Hello") -> None:
        """A template of the platform's, which every tenant may send."""
        nobody: Any = None
        templates = templates_of(
            renderer=self.renderer, keyring=self.keyring, recipients=nobody, audit=self.audit, clock=self.clock
        )
        scope, subject = scope_of(PLATFORM), "A word" if channel is Channel.EMAIL else ""
        source = LocaleSource(subject=subject, body=text, format=Format.TEXT)
        async with self.api_work.begin(PLATFORM) as tx:
            new = NewTemplate(key=key, channel=channel, category=Category.OPERATIONAL)
            await templates.catalog.create(tx, scope, new)
            draft = NewVersion(written=Written(locales={"en": source}), semver="1.0.0")
            await templates.drafts.add(tx, scope, key, channel, draft)
            await templates.publish(tx, scope, key, channel, "1.0.0")

    async def make_due(self, ago: str = "1 second") -> None:
        await self.admin.execute("update timers set due = now() - $1::text::interval where state = 'waiting'", ago)

    async def only_timer(self) -> dict[str, Any]:
        return dict(await self.admin.fetchrow("select * from timers"))

    async def take(self, event: Event, tenant: str = "acme") -> Taken:
        async with self.api_work.begin(tenant) as tx:
            return await self.desk.events.take(tx, scope_of(tenant), event)

    async def trigger(self, tenant: str = "acme", key: str | None = None, **fields: Any) -> None:
        usual = {"event_type": "t", "template": "reminder", "recipient": "$.data.guest"}
        async with self.api_work.begin(tenant) as tx:
            await self.desk.triggers.create(tx, scope_of(tenant), msgspec.convert(usual | fields, TriggerSpec), key)

    async def change(self, changes: dict[str, Any]) -> None:
        """The tenant's one trigger."""
        trigger_id = await self.admin.fetchval("select id from triggers where tenant_id = 'acme'")
        async with self.api_work.begin("acme") as tx:
            await self.desk.triggers.change(tx, scope_of("acme"), trigger_id, changes)

    async def count(self, query: str, *args: Any) -> int:
        return await self.admin.fetchval(f"select count(*) from {query}", *args)


class _NoAudit:
    async def record(self, *_: object, **__: object) -> None: ...


def told(number: int = 1, kind: str = "t", minutes: float = 0, **data: Any) -> Event:
    guest = {"id": f"user-{number}", "email": f"user-{number}@example.com"}
    occurred_at = datetime.now(UTC) + timedelta(minutes=minutes)
    return Event(id=f"evt-{number}", type=kind, occurred_at=occurred_at, data={"guest": guest, **data})


@pytest.fixture
def tell() -> Callable[..., Event]:
    return told


@pytest.fixture
async def bureau(
    api_work: PgWork,
    worker_work: PgWork,
    admin: asyncpg.Connection,
    vault: LocalVault,
    connect: Callable[..., Awaitable[asyncpg.Connection]],
    make_tenant: Callable[..., Awaitable[str]],
) -> AsyncIterator[Bureau]:
    await ensure_partitions(await connect("worker"))
    for tenant in (PLATFORM, "acme"):
        await make_tenant(tenant)
    renderer = RenderPool(clock=SystemClock())
    made = Bureau(api_work, worker_work, admin, vault, renderer, make_tenant)
    await made.publish()
    yield made
    await renderer.close()
