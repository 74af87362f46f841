"""The mailbox on PostgreSQL: taking in, looking, and staying small."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import asyncpg
import pytest

from waypost.adapters.postgres.mailbox import PgMailboxStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Forbidden, NotFound, Refused
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.mailbox import return_path
from waypost.mailbox.model import Letter, SealedLetter
from waypost.mailbox.read import Mailbox
from waypost.mailbox.receive import Receive

MakeTenant = Callable[..., Awaitable[str]]


def letter(subject: str, *to: str) -> Letter:
    return Letter(recipients=to or ("jane@example.com",), data=f"Subject: {subject}\r\n\r\nSecret words\r\n".encode())


def scope(tenant_id: str, *permissions: Permission) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.SANDBOX,
        key_id=UUID(int=1),
        key_tenant=tenant_id,
        permissions=frozenset(permissions or (Permission.MAILBOX_READ,)),
        request_id="req_1",
    )


@pytest.fixture
def vault() -> LocalVault:
    return LocalVault(MasterKey(bytes(range(32))))


@pytest.fixture
async def acme(make_tenant: MakeTenant, vault: LocalVault) -> str:
    return await make_tenant("acme", wrapped_key=vault.new_tenant_key("acme"))


@pytest.fixture
def receive(api_work: PgWork, vault: LocalVault, clock: VirtualClock) -> Receive:
    return Receive(work=api_work, store=PgMailboxStore(), keyring=PgKeyring(vault), clock=clock)


@pytest.fixture
def mailbox(vault: LocalVault) -> Mailbox:
    return Mailbox(store=PgMailboxStore(), keyring=PgKeyring(vault))


async def test_what_is_kept_is_listed_newest_first_and_read_whole(
    acme: str, receive: Receive, mailbox: Mailbox, api_work: PgWork, clock: VirtualClock
) -> None:
    await receive.keep(acme, [letter("one"), letter("two", "a@example.com", "b@example.com")])
    await clock.advance(1)
    await receive.keep(acme, [letter("three")])
    async with api_work.begin(acme) as tx:
        first = await mailbox.page(tx, scope(acme), limit=2)
        assert [entry.subject for entry in first.items] == ["three", "two"]
        assert first.items[1].to == "a@example.com, b@example.com"
        assert first.items[0].received_at == clock.now()
        rest = await mailbox.page(tx, scope(acme), cursor=first.next, limit=2)
        assert [entry.subject for entry in rest.items] == ["one"]
        assert rest.next is None
        assert await mailbox.raw(tx, scope(acme), rest.items[0].id) == letter("one").data


async def test_nothing_is_readable_in_the_table(
    acme: str, receive: Receive, api_work: PgWork, admin: asyncpg.Connection
) -> None:
    await receive.keep(acme, [letter("Hush", "jane@example.com")])
    row = await admin.fetchrow("select summary, raw from waypost.mailbox")
    assert row is not None
    for word in (b"Hush", b"jane", b"Secret"):
        assert word not in row["summary"] + row["raw"]


async def test_only_the_newest_are_kept(acme: str, api_work: PgWork, clock: VirtualClock) -> None:
    store = PgMailboxStore()
    ids = sorted(mint(clock) for _ in range(7))
    letters = [SealedLetter(id=one, summary=b"s", raw=b"r") for one in ids]
    async with api_work.begin(acme) as tx:
        await store.add(tx, letters[:3], 3)
    async with api_work.begin(acme) as tx:
        await store.add(tx, letters[3:], 3)
        assert [one for one, _ in await store.page(tx, None, 10)] == ids[:3:-1]


async def test_another_tenant_sees_nothing(
    acme: str, make_tenant: MakeTenant, vault: LocalVault, receive: Receive, mailbox: Mailbox, api_work: PgWork
) -> None:
    await make_tenant("other", wrapped_key=vault.new_tenant_key("other"))
    await receive.keep(acme, [letter("one")])
    async with api_work.begin(acme) as tx:
        found = (await mailbox.page(tx, scope(acme))).items[0].id
    async with api_work.begin("other") as tx:
        assert (await mailbox.page(tx, scope("other"))).items == []
        with pytest.raises(NotFound):
            await mailbox.raw(tx, scope("other"), found)


async def test_bad_questions_get_clear_answers(acme: str, mailbox: Mailbox, api_work: PgWork) -> None:
    async with api_work.begin(acme) as tx:
        with pytest.raises(NotFound):
            await mailbox.raw(tx, scope(acme), None)
        with pytest.raises(Forbidden):
            await mailbox.page(tx, scope(acme, Permission.AUDIT_READ))
        with pytest.raises(Forbidden):
            await mailbox.raw(tx, scope(acme, Permission.AUDIT_READ), UUID(int=1))
        for wrong in ({"limit": 0}, {"limit": 101}, {"cursor": "%"}):
            with pytest.raises(Refused):
                await mailbox.page(tx, scope(acme), **wrong)


async def test_only_genuine_return_paths_are_admitted(
    acme: str, receive: Receive, vault: LocalVault, api_work: PgWork, clock: VirtualClock
) -> None:
    async with api_work.begin(acme) as tx:
        key = await PgKeyring(vault).of(tx)
    notification = mint(clock)
    genuine = return_path.make(acme, notification, key)
    for _ in range(2):
        admitted = await receive.admit(genuine)
        assert admitted is not None
        assert (admitted.tenant_id, admitted.notification_id) == (acme, notification)
    assert await receive.admit(genuine.replace("@acme.", "@nobody.")) is None
    assert await receive.admit(genuine.replace("b+0", "b+1")) is None
    assert await receive.admit(genuine.replace(f"@{acme}.sandbox.invalid", "@example.com")) is None
    assert await receive.admit("jane@example.com") is None
