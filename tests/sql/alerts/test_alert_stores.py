"""Alerts on a real database: opened once, told and told again, closed by themselves, saying no more than they may."""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.alerts import PgAlertBoard, PgAlerts, PgAlertTargets, PgTellings
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.work import PgWork
from waypost.alerts.alarms import Alarms
from waypost.alerts.model import Alert, AlertKind, TargetStatus
from waypost.alerts.rules import Limits
from waypost.alerts.targets import TargetChange, Targets
from waypost.alerts.tell import Tell
from waypost.alerts.watch import Watch
from waypost.kernel.clock import VirtualClock
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

LIMITS = Limits(stalled_after=timedelta(minutes=10), in_doubt=5, dead_letters=10, repeat=timedelta(hours=4))
SCOPE = Scope(
    tenant_id="acme",
    mode=TenantMode.LIVE,
    key_id=uuid4(),
    key_tenant="acme",
    permissions=frozenset(Permission),
    request_id="req",
)


class OpenKeyring:
    async def of(self, tx: Transaction) -> "OpenKeyring":
        return self

    def seal(self, plain: bytes, bound_to: str) -> bytes:
        return plain[::-1]

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        return sealed[::-1]


class Post:
    """Both ways of telling. `faults` are answered one after the other."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, str, str]] = []
        self.calls: list[dict[str, Any]] = []
        self.faults: list[str | None] = []

    async def send(self, tx: Transaction, address: str, subject: str, text: str, key: str) -> None:
        self.mails.append((address, subject, text))

    async def post(self, url: str, secret: str, message_id: str, at: datetime, body: bytes) -> str | None:
        self.calls.append(json.loads(body))
        return self.faults.pop(0) if self.faults else None

    async def check(self, url: str) -> None: ...

    def new_secret(self) -> str:
        return "whsec_c2VjcmV0"


class Bureau:
    def __init__(self, work: PgWork, admin: asyncpg.Connection, clock: VirtualClock) -> None:
        self.work, self.admin, self.clock, self.post = work, admin, clock, Post()
        self.alarms = Alarms(store=PgAlerts(), clock=clock)
        keyring: Any = OpenKeyring()
        self.targets = Targets(
            store=PgAlertTargets(),
            tellings=PgTellings(),
            urls=self.post,
            keyring=keyring,
            audit=Audit(PgAuditStore(), clock),
            clock=clock,
        )
        self.tell = Tell(
            work=work,
            board=PgAlertBoard(work),
            alerts=PgAlerts(),
            targets=PgAlertTargets(),
            tellings=PgTellings(),
            mail=self.post,
            call=self.post,
            keyring=keyring,
            limits=LIMITS,
            clock=clock,
            random=lambda: 0.5,
        )
        self.watch = Watch(
            work=work, board=PgAlertBoard(work), store=PgAlerts(), alarms=self.alarms, limits=LIMITS, clock=clock
        )

    async def open(self, subject: str = "snd_1", **facts: Any) -> None:
        async with self.work.begin("acme") as tx:
            await self.alarms.open(tx, AlertKind.ACCOUNT_PAUSED, subject, facts)

    async def close(self, subject: str = "snd_1") -> None:
        async with self.work.begin("acme") as tx:
            await self.alarms.close(tx, AlertKind.ACCOUNT_PAUSED, subject)

    async def listen(self, **target: Any) -> Any:
        async with self.work.begin("acme") as tx:
            return (await self.targets.create(tx, SCOPE, **target)).target

    async def alerts(self, tenant: str = "acme") -> list[Alert]:
        async with self.work.begin(tenant) as tx:
            return list(await PgAlerts().page(tx, is_open=None, kind=None, before=None, limit=100))

    async def stall(self, *, minutes: int, paused: bool = False) -> None:
        await self.admin.execute(
            "insert into lanes (tenant_id, channel, priority, due, paused) values ('acme', 1, 1, $1, $2)"
            " on conflict (tenant_id, channel, priority) do update set due = excluded.due, paused = excluded.paused",
            self.clock.now() - timedelta(minutes=minutes),
            paused,
        )


@pytest.fixture(params=["api", "worker"])
async def bureau(
    request: pytest.FixtureRequest,
    api_work: PgWork,
    worker_work: PgWork,
    admin: asyncpg.Connection,
    make_tenant: Callable[..., Awaitable[str]],
) -> Bureau:
    for tenant in ("acme", PLATFORM):
        await make_tenant(tenant)
    return Bureau({"api": api_work, "worker": worker_work}[request.param], admin, VirtualClock())


@pytest.fixture
def bureau_of_the_api(bureau: Bureau, api_work: PgWork) -> Bureau:
    """Targets are made by the API, whoever tells them."""
    made = Bureau(api_work, bureau.admin, bureau.clock)
    bureau.listen = made.listen  # type: ignore[method-assign]
    bureau.change = made  # type: ignore[attr-defined]
    return bureau


async def test_an_alert_opens_once_is_repeated_and_closes(bureau_of_the_api: Bureau) -> None:
    bureau = bureau_of_the_api
    await bureau.listen(email="ops@example.com")
    for _ in range(3):
        await bureau.open(errors=12, last="550 jane@example.com unknown")
        await bureau.tell()
    assert [subject for _, subject, _ in bureau.post.mails] == ["Alert: account paused (snd_1)"]
    [(address, _, text)] = bureau.post.mails
    assert address == "ops@example.com"
    assert "Errors: 12" in text
    assert "jane" not in text
    await bureau.clock.advance(4 * 3600 - 1)
    await bureau.tell()
    assert len(bureau.post.mails) == 1
    await bureau.clock.advance(1)
    await bureau.tell()
    assert bureau.post.mails[1][1].startswith("Still open")
    await bureau.close()
    await bureau.close()
    await bureau.tell()
    await bureau.clock.advance(24 * 3600)
    await bureau.tell()
    assert [subject.split(":")[0] for _, subject, _ in bureau.post.mails] == ["Alert", "Still open", "Resolved"]
    await bureau.open()
    assert [alert.is_open for alert in await bureau.alerts()] == [True, False]


async def test_targets_hear_only_what_they_asked_for(bureau_of_the_api: Bureau) -> None:
    bureau = bureau_of_the_api
    await bureau.listen(url="https://example.com/hook", kinds=[AlertKind.DOMAIN_LOST])
    wanted = await bureau.listen(url="https://example.com/other", kinds=[AlertKind.ACCOUNT_PAUSED])
    await bureau.open()
    await bureau.tell()
    [told] = bureau.post.calls
    assert told["type"] == "alert.opened"
    assert (told["data"]["kind"], told["data"]["subject"], told["data"]["tenant"]) == (
        "account_paused",
        "snd_1",
        "acme",
    )
    async with bureau.change.work.begin("acme") as tx:  # type: ignore[attr-defined]
        change = TargetChange(status=TargetStatus.DISABLED)
        await bureau.targets.change(tx, SCOPE, wanted.id, change)
    await bureau.close()
    await bureau.tell()
    assert len(bureau.post.calls) == 1


async def test_a_target_that_fails_is_tried_again_and_given_up(bureau_of_the_api: Bureau) -> None:
    bureau = bureau_of_the_api
    target = await bureau.listen(url="https://example.com/hook")
    bureau.post.faults = ["timeout", "status_500"]
    await bureau.open()
    for _ in range(3):
        await bureau.tell()
        await bureau.clock.advance(600)
    assert len(bureau.post.calls) == 3
    async with bureau.work.begin("acme") as tx:
        found = await PgAlertTargets().find(tx, target.id)
    assert found is not None
    assert found.last_fault is None
    assert found.last_told_at is not None
    bureau.post.faults = ["unreachable"] * 20
    await bureau.close()
    for _ in range(20):
        await bureau.tell()
        await bureau.clock.advance(3600 * 4)
    assert len(bureau.post.calls) == 3 + 8
    assert await bureau.admin.fetchval("select count(*) from alert_tellings") == 0


async def test_work_that_nobody_does_is_noticed_with_and_without_workers(bureau: Bureau) -> None:
    await bureau.stall(minutes=9)
    await bureau.watch()
    assert await bureau.alerts() == []
    await bureau.stall(minutes=11)
    await bureau.watch()
    [alert] = await bureau.alerts()
    assert (alert.kind, alert.subject, alert.facts["workers_alive"]) == (AlertKind.QUEUE_STALLED, "email", 0)
    [platforms] = await bureau.alerts(PLATFORM)
    assert (platforms.subject, platforms.facts["tenants"]) == ("the queue", 1)
    await bureau.admin.execute(
        "insert into workers (id, host, pid, code, lease_until) values ($1, 'h', 1, 1, now() + interval '1 hour')",
        uuid4(),
    )
    await bureau.watch()
    [alert] = await bureau.alerts()
    assert alert.facts["workers_alive"] == 1
    await bureau.stall(minutes=11, paused=True)
    await bureau.watch()
    assert [alert.is_open for alert in [*await bureau.alerts(), *await bureau.alerts(PLATFORM)]] == [False, False]


async def test_troubles_that_grow_are_noticed_and_pass(bureau: Bureau) -> None:
    for trouble, count in (("in_doubt", 5), ("dead_letter", 9)):
        await bureau.admin.execute(
            "insert into trouble_counts (tenant_id, trouble, slot, count) values ('acme', $1, $2, $3)",
            trouble,
            bureau.clock.now() - timedelta(minutes=10),
            count,
        )
    await bureau.watch()
    [alert] = await bureau.alerts()
    assert (alert.kind, alert.facts) == (AlertKind.IN_DOUBT_GROWING, {"count": 5, "minutes": 15})
    await bureau.clock.advance(600)
    await bureau.watch()
    [alert] = await bureau.alerts()
    assert not alert.is_open


async def test_a_test_tells_something_harmless(bureau_of_the_api: Bureau) -> None:
    bureau = bureau_of_the_api
    target = await bureau.listen(email="ops@example.com")
    async with bureau.change.work.begin("acme") as tx:  # type: ignore[attr-defined]
        await bureau.targets.test(tx, SCOPE, target.id)
    await bureau.tell()
    [(_, subject, _)] = bureau.post.mails
    assert subject.startswith("Test")
    assert await bureau.alerts() == []
