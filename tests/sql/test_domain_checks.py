"""Checks of domains on a real database, as the roles of a real installation, over days of a virtual clock."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import dkim
import pytest
from tests.dns_peer import SERVFAIL, Zone, zone

from waypost.adapters.dkim.keys import DkimKeys
from waypost.adapters.dkim.signer import DkimSigner
from waypost.adapters.dns.resolver import DnsResolver
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.domains import PgDomains, PgDueDomains
from waypost.adapters.postgres.news_subjects import PgSubjects
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.bootstrap.domains import OutboxDomainNews
from waypost.domains.manage import Domains, DomainView
from waypost.domains.model import Domain, DomainState, KeyState, Purpose
from waypost.domains.ports import DomainEvent
from waypost.domains.rules import Places
from waypost.domains.standing import DomainBook
from waypost.domains.verify import Recheck, Verify
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import NotFound, Refused
from waypost.kernel.ids import show
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.mailbox import return_path
from waypost.notifications.outgoing import Outgoing
from waypost.tenants.audit import Audit

__all__ = ["zone"]

DAY = 86_400.0
PLACES = Places(
    message_domain="waypost.example",
    default_from="Waypost <hello@waypost.example>",
    return_path_host="return.waypost.example",
    tracking_host="track.waypost.example",
)
MakeTenant = Callable[..., Awaitable[str]]


class Listener:
    """Implements `domains.ports.DomainNews`: what alerts would hear."""

    def __init__(self) -> None:
        self.told: list[tuple[str, DomainEvent]] = []

    async def tell(self, tx: Transaction, domain: Domain, event: DomainEvent) -> None:
        self.told.append((domain.name, event))


class House:
    """The API's desk and a worker's chore over one database."""

    def __init__(self, api: PgWork, worker: PgWork, vault: LocalVault, zone: Zone, clock: VirtualClock) -> None:
        self.api, self.worker, self.vault, self.zone, self.clock = api, worker, vault, zone, clock
        self.store, self.listener = PgDomains(), Listener()
        self.audit = Audit(PgAuditStore(), clock)
        self.manage = Domains(
            store=self.store,
            keys=DkimKeys(),
            keyring=PgKeyring(vault),
            places=PLACES,
            book=DomainBook(self.store, clock),
            news=OutboxDomainNews([self.listener]),
            audit=self.audit,
            clock=clock,
        )
        self.verify = Verify(
            store=self.store,
            dns=DnsResolver([zone.server], question=20, patience=30),
            places=PLACES,
            book=DomainBook(self.store, clock),
            news=OutboxDomainNews([self.listener]),
            audit=self.audit,
            clock=clock,
        )
        self.recheck = Recheck(work=worker, due=PgDueDomains(worker), store=self.store, verify=self.verify, clock=clock)

    async def claim(self, tenant: str, name: str, *purposes: Purpose) -> DomainView:
        async with self.api.begin(tenant) as tx:
            wanted = purposes or (Purpose.FROM,)
            return await self.manage.create(tx, scope(tenant), name=name, purposes=wanted)

    def publish(self, view: DomainView) -> None:
        for record in view.records:
            self.zone.set(record.type.value, record.name, record.value)

    async def check(self, tenant: str, domain_id: UUID) -> DomainView:
        async with self.api.begin(tenant) as tx:
            return await self.verify.check(tx, scope(tenant), domain_id)

    async def verified(self, tenant: str, name: str, *purposes: Purpose) -> DomainView:
        view = await self.claim(tenant, name, *purposes)
        self.publish(view)
        checked = await self.check(tenant, view.domain.id)
        assert checked.domain.state is DomainState.VERIFIED
        return checked

    async def state(self, tenant: str, domain_id: UUID) -> DomainState:
        async with self.api.begin(tenant) as tx:
            return (await self.manage.get(tx, scope(tenant), domain_id)).domain.state

    def outgoing(self) -> Outgoing:
        return Outgoing(
            work=self.worker,
            store=self.store,
            keyring=PgKeyring(self.vault),
            signers=DkimSigner,
            default_from=PLACES.default_from,
            default_address=PLACES.default_address,
            clock=self.clock,
        )


def scope(tenant: str) -> Scope:
    return Scope(
        tenant_id=tenant,
        mode=TenantMode.LIVE,
        key_id=UUID(int=9),
        key_tenant=tenant,
        permissions=frozenset(Permission),
        request_id="rid_test",
    )


@pytest.fixture
def house(api_work: PgWork, worker_work: PgWork, vault: LocalVault, zone: Zone, clock: VirtualClock) -> House:
    return House(api_work, worker_work, vault, zone, clock)


async def test_a_worker_looks_by_itself_and_gives_three_days(
    house: House, make_tenant: MakeTenant, admin: asyncpg.Connection, clock: VirtualClock
) -> None:
    await make_tenant("acme", mode="live")
    claimed = await house.claim("acme", "example.com")
    domain_id = claimed.domain.id
    assert await house.recheck() == 0, "its time has not come"
    house.publish(claimed)
    await clock.advance(3_700)
    assert await house.recheck() == 1
    assert await house.state("acme", domain_id) is DomainState.VERIFIED
    assert await house.recheck() == 0

    house.zone.misbehave("*", SERVFAIL)
    for _ in range(10):
        await clock.advance(DAY)
        assert await house.recheck() == 1
    assert await house.state("acme", domain_id) is DomainState.VERIFIED, "silence takes nothing away"
    house.zone.misbehave("*", None)

    house.zone.records.clear()
    states = []
    for _ in range(5):
        await clock.advance(DAY)
        assert await house.recheck() == 1
        states.append(await house.state("acme", domain_id))
    failing, failed = DomainState.FAILING, DomainState.FAILED
    assert states == [failing, failing, failing, failed, failed]

    house.publish(claimed)
    await clock.advance(DAY)
    await house.recheck()
    assert await house.state("acme", domain_id) is DomainState.VERIFIED
    told = [event for _, event in house.listener.told]
    assert told == [DomainEvent.VERIFIED, DomainEvent.FAILING, DomainEvent.FAILED, DomainEvent.VERIFIED]
    assert [row["kind"] for row in await admin.fetch("select kind from outbox order by id")] == [50, 51, 52, 50]
    rows = await admin.fetch("select actor, action, subject from audit where request_id = 'recheck' order by id")
    assert [row["action"] for row in rows] == [f"domain.{event}" for event in told]
    assert {(row["actor"], row["subject"]) for row in rows} == {("operator", show("dom", domain_id))}


async def test_news_tell_what_fails(house: House, make_tenant: MakeTenant) -> None:
    await make_tenant("acme")
    view = await house.verified("acme", "example.com")
    house.zone.drop("TXT", "_waypost.example.com")
    await house.check("acme", view.domain.id)
    async with house.worker.begin("acme") as tx:
        facts = (await PgSubjects().domains(tx, [view.domain.id]))[view.domain.id]
    assert (facts.name, facts.failed) == ("example.com", ("ownership",))
    assert facts.failing_since is not None


async def test_of_several_workers_one_looks(house: House, make_tenant: MakeTenant, clock: VirtualClock) -> None:
    await make_tenant("acme")
    view = await house.verified("acme", "example.com")
    asked = len(house.zone.asked)
    await clock.advance(DAY + 1)
    assert sorted(await asyncio.gather(*(house.recheck() for _ in range(4)))) == [0, 0, 0, 1]
    assert len(house.zone.asked) - asked <= 2 * len(view.records)


async def test_a_domain_removed_while_it_is_looked_at_stays_removed(house: House, make_tenant: MakeTenant) -> None:
    await make_tenant("acme")
    view = await house.verified("acme", "example.com")
    look = await house.verify.look(view.domain)
    async with house.api.begin("acme") as tx:
        await house.manage.remove(tx, scope("acme"), view.domain.id)
    with pytest.raises(NotFound):
        async with house.worker.begin("acme") as tx:
            await house.verify.conclude(tx, scope("acme"), view.domain, look)


async def test_of_two_that_prove_it_at_once_one_gets_it(
    house: House, make_tenant: MakeTenant, admin: asyncpg.Connection
) -> None:
    for turn in range(2):
        name, claims = f"race{turn}.example", {}
        for tenant in ("acme", "globex", "initech"):
            if turn == 0:
                await make_tenant(tenant)
            claims[tenant] = await house.claim(tenant, name)
            house.publish(claims[tenant])
        house.zone.set("TXT", f"_waypost.{name}", *(view.records[0].value for view in claims.values()))
        looks = {tenant: await house.verify.look(view.domain) for tenant, view in claims.items()}

        async def conclude(tenant: str, claims: Any = claims, looks: Any = looks) -> DomainState:
            async with house.api.begin(tenant) as tx:
                view = await house.verify.conclude(tx, scope(tenant), claims[tenant].domain, looks[tenant])
                await asyncio.sleep(0)
            return view.domain.state

        states = await asyncio.gather(*(conclude(tenant) for tenant in claims))
        assert sorted(states) == ["pending", "pending", "verified"], name
    held = await admin.fetch(
        "select name from domains where state in ('verified', 'failing') group by name having count(*) > 1"
    )
    assert held == []


async def test_a_tenant_on_its_way_out_holds_nothing(
    house: House, make_tenant: MakeTenant, admin: asyncpg.Connection, clock: VirtualClock
) -> None:
    await make_tenant("acme")
    await make_tenant("globex")
    await house.verified("acme", "example.com")
    other = await house.claim("globex", "example.com")
    house.publish(other)
    assert (await house.check("globex", other.domain.id)).domain.state is DomainState.PENDING
    await admin.execute("update tenants set status = 'deleting' where id = 'acme'")
    assert (await house.check("globex", other.domain.id)).domain.state is DomainState.VERIFIED
    await clock.advance(DAY + 1)
    assert await house.recheck() == 1, "nobody looks at what is being deleted"


async def test_old_keys_are_destroyed_when_their_time_is_over(
    house: House, make_tenant: MakeTenant, admin: asyncpg.Connection, clock: VirtualClock
) -> None:
    await make_tenant("acme")
    view = await house.verified("acme", "example.com")
    async with house.api.begin("acme") as tx:
        rotated = await house.manage.rotate_keys(tx, scope("acme"), view.domain.id, overlap_days=2)
    house.publish(rotated)
    await clock.advance(3_700)
    assert await house.recheck() == 1
    count = "select count(*) from dkim_keys where state = $1"
    assert [await admin.fetchval(count, state.value) for state in KeyState] == [0, 2, 2]
    await clock.advance(2 * DAY)
    await house.recheck()
    await clock.advance(DAY)
    await house.recheck()
    assert [await admin.fetchval(count, state.value) for state in KeyState] == [0, 2, 0]


MESSAGE = (
    b"Date: Thu, 15 Jan 2026 12:00:00 +0000\r\nFrom: Shop <hello@example.com>\r\nTo: jane@example.org\r\n"
    b"Subject: Hello\r\nMessage-ID: <1@waypost.example>\r\nMIME-Version: 1.0\r\n\r\nHello\r\n"
)


async def test_what_comes_from_the_operator_s_own_address_is_signed_by_the_operator(
    house: House, make_tenant: MakeTenant, clock: VirtualClock
) -> None:
    await make_tenant(PLATFORM)
    await make_tenant("shop", mode="live")
    await make_tenant("trial")
    name = PLACES.default_address.rpartition("@")[2]
    with pytest.raises(Refused) as refused:
        await house.claim("shop", name)
    assert refused.value.code == "domain_reserved"
    outgoing = house.outgoing()
    await outgoing.refresh(["shop"])
    assert outgoing.voice("shop", PLACES.default_from).signer is None

    view = await house.verified(PLATFORM, name)
    await house.verified("shop", "example.com")
    await clock.advance(6)
    await outgoing.refresh(["shop", "trial"])
    message = MESSAGE.replace(b"hello@example.com", PLACES.default_address.encode())
    records = {record.name: record.value.encode() for record in view.records}
    for sender in (PLACES.default_from, f"Shop <{PLACES.default_address}>"):
        voice = outgoing.voice("shop", sender)
        assert voice.signer is not None
        signed = voice.signer.begin(message, clock.now())() + message
        for number in range(2):
            assert dkim.DKIM(signed).verify(
                idx=number, dnsfunc=lambda name, timeout: records[name.decode().rstrip(".")]
            )
    assert outgoing.voice("shop", "Shop <hello@example.com>").signer is not voice.signer
    assert not outgoing.voice("shop", f"boss@{name}").allowed
    for sender in (PLACES.default_from, f"boss@{name}"):
        assert outgoing.voice("trial", sender).signer is None, "whoever only tries things out gets no signature"


async def test_how_mail_goes_out(house: House, make_tenant: MakeTenant, clock: VirtualClock) -> None:
    await make_tenant("shop", mode="live")
    outgoing = house.outgoing()
    await outgoing.refresh(["shop"])
    assert outgoing.voice("shop", PLACES.default_from).allowed
    assert not outgoing.voice("shop", "Shop <hello@example.com>").allowed
    assert not outgoing.voice("nobody", PLACES.default_from).allowed

    view = await house.verified("shop", "example.com")
    house.zone.set("CNAME", "bounce.example.com", "return.waypost.example")
    await house.verified("shop", "bounce.example.com", Purpose.RETURN_PATH)
    assert not outgoing.voice("shop", "Shop <hello@example.com>").allowed, "it is remembered for a moment"
    await clock.advance(6)
    await outgoing.refresh(["shop"])
    voice = outgoing.voice("shop", "Shop <hello@example.com>")
    assert (voice.allowed, voice.return_domain) == (True, "bounce.example.com")
    assert voice.signer is not None
    signed = voice.signer.begin(MESSAGE, clock.now())() + MESSAGE
    records = {record.name: record.value.encode() for record in view.records}
    for number in range(2):
        assert dkim.DKIM(signed).verify(idx=number, dnsfunc=lambda name, timeout: records[name.decode().rstrip(".")])
    default = outgoing.voice("shop", PLACES.default_from)
    assert (default.allowed, default.signer) == (True, None), "nobody's key signs for the operator"

    async with house.api.begin("shop") as tx:
        await house.manage.remove(tx, scope("shop"), view.domain.id)
    await clock.advance(6)
    await outgoing.refresh(["shop"])
    assert not outgoing.voice("shop", "Shop <hello@example.com>").allowed


async def test_a_key_opens_in_its_own_place_only(
    house: House, make_tenant: MakeTenant, admin: asyncpg.Connection
) -> None:
    """A row moved to another tenant, by whatever fault, signs nothing there."""
    for tenant in ("acme", "globex"):
        await make_tenant(tenant, mode="live")
    mine, theirs = await house.verified("acme", "a.example"), await house.verified("globex", "b.example")
    stolen = await admin.fetchval("select private_key from dkim_keys where id = $1", theirs.domain.keys[0].id)
    await admin.execute("update dkim_keys set private_key = $2 where id = $1", mine.domain.keys[0].id, stolen)
    outgoing = house.outgoing()
    await outgoing.refresh(["acme", "globex"])
    assert not outgoing.voice("acme", "hello@a.example").allowed
    assert outgoing.voice("globex", "hello@b.example").signer is not None, "nobody else is harmed"


async def test_return_paths_are_the_tenants_own(house: House, make_tenant: MakeTenant) -> None:
    await make_tenant("shop", mode="live")
    async with house.api.begin("shop") as tx:
        key = await PgKeyring(house.vault).of(tx)
    address = return_path.make("shop", UUID(int=5), key, "bounce.example.com")
    assert return_path.verify(address.upper(), "shop", key) == UUID(int=5)
    assert return_path.verify(address, "acme", key) is None


async def test_what_is_asked_at_every_message_goes_by_index(
    house: House, make_tenant: MakeTenant, admin: asyncpg.Connection, connect: Any
) -> None:
    await make_tenant("acme", mode="live")
    worker = await connect("worker")
    await worker.execute("set enable_seqscan = off; select set_config('app.tenant_id', 'acme', false)")
    from waypost.adapters.postgres.queries import load

    sql = load("domains")
    for name in ("standing", "signing_keys"):
        plan = "\n".join(
            row[0] for row in await worker.fetch(f"explain {sql[name].replace('$1', chr(39) + 'acme' + chr(39))}")
        )
        assert "Seq Scan" not in plan, plan
    async with house.worker.begin("acme") as tx:
        assert await house.store.standing(tx, with_keys=True) == replace(
            await house.store.standing(tx), mode=TenantMode.LIVE
        )
