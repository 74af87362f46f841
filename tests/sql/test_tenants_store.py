"""Tenants, the platform and the keys of its vault, on the real database and as the API's role."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest
from tests.tenants_front import VAULT, Front, front

from waypost.adapters.postgres.tenants import PgKeyring, PgTenantStore, standing_in
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import (
    Conflict,
    Forbidden,
    Misconfigured,
    NotFound,
    PreconditionFailed,
    Refused,
)
from waypost.kernel.tenancy import PLATFORM, Permission
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.model import TenantStatus
from waypost.tenants.platform import ensure_platform, operator_scope, verify_master_key

__all__ = ["front"]


async def test_the_platform_is_set_up_once_and_knows_its_master_key(front: Front) -> None:
    await ensure_platform(front.work, PgTenantStore(), VAULT, front.clock)
    await verify_master_key(front.work, PgTenantStore(), VAULT)
    other = LocalVault(MasterKey(bytes(32)))
    for check in (
        ensure_platform(front.work, PgTenantStore(), other, front.clock),
        verify_master_key(front.work, PgTenantStore(), other),
    ):
        with pytest.raises(Misconfigured) as refusal:
            await check
        assert refusal.value.code == "master_key_wrong"


async def test_two_processes_that_set_up_at_once_agree_on_the_key(
    api_work: PgWork, clock: VirtualClock, admin: asyncpg.Connection
) -> None:
    await asyncio.gather(*[ensure_platform(api_work, PgTenantStore(), VAULT, clock) for _ in range(6)])
    await verify_master_key(api_work, PgTenantStore(), VAULT)
    assert await admin.fetchval("select count(*) from waypost.tenants") == 1


async def test_a_database_that_was_never_set_up_says_so(api_work: PgWork) -> None:
    with pytest.raises(Misconfigured) as refusal:
        await verify_master_key(api_work, PgTenantStore(), VAULT)
    assert refusal.value.code == "not_migrated"


async def test_tenants_are_made_read_listed_and_changed(front: Front) -> None:
    scope = operator_scope("req_7")
    for name in ("acme", "beta-1", "zeta"):
        await front.make_tenant(name)
    async with front.work.begin(PLATFORM) as tx:
        first = await front.tenants.page(tx, scope, None, 2)
        rest = await front.tenants.page(tx, scope, first.next, 2)
        suspended = await front.tenants.page(tx, scope, None, 2, status=TenantStatus.SUSPENDED)
        changed = await front.tenants.change(tx, scope, "acme", name="Acme Ltd", version=1)
        again = await front.tenants.get(tx, scope, "acme")
        untouched = await front.tenants.change(tx, scope, "acme", name="Acme Ltd", version=2)
    assert [tenant.id for tenant in (*first.items, *rest.items)] == ["acme", "beta-1", "zeta"]
    assert rest.next is None
    assert suspended.items == []
    assert (changed.name, changed.version) == ("Acme Ltd", 2)
    assert again == changed == untouched


async def test_what_tenants_refuse(front: Front) -> None:
    scope = operator_scope("req_7")
    await front.make_tenant("acme")
    async with front.work.begin(PLATFORM) as tx:
        with pytest.raises(Conflict, match="already"):
            await front.tenants.create(tx, scope, tenant_id="acme", name="x", mode=TenantMode.LIVE)
        with pytest.raises(PreconditionFailed):
            await front.tenants.change(tx, scope, "acme", name="y", version=9)
        with pytest.raises(Conflict) as illegal:
            await front.tenants.change(tx, scope, "acme", status=TenantStatus.ONBOARDING)
        for unknown in ("nobody", "Not A Slug", PLATFORM, "x\0y"):
            with pytest.raises(NotFound):
                await front.tenants.get(tx, scope, unknown)
        # The transaction still sees its own tenant after each refusal.
        assert await front.tenants.get(tx, scope, "acme")
        assert await tx.connection.fetchval("select current_setting('app.tenant_id')") == PLATFORM
    assert illegal.value.code == "illegal_transition"
    for bad in ("ab", "-acme", "Acme", "a_b", "a" * 64, "", PLATFORM):
        with pytest.raises(Refused) as refusal:
            await front.make_tenant(bad)
        assert refusal.value.errors[0].pointer == "/id"


async def test_a_tenant_key_may_read_its_own_tenant_only(front: Front) -> None:
    await front.make_tenant("acme")
    await front.make_tenant("other")
    scope = await front.enter((await front.make_key("acme", (Permission.NOTIFICATIONS_READ,))).secret)
    async with front.work.begin(scope.tenant_id) as tx:
        assert (await front.tenants.get(tx, scope, "acme")).id == "acme"
        with pytest.raises(NotFound):
            await front.tenants.get(tx, scope, "other")
        for forbidden in (
            front.tenants.page(tx, scope, None, None),
            front.tenants.change(tx, scope, "acme", name="x"),
            front.tenants.create(tx, scope, tenant_id="mine", name="x", mode=TenantMode.LIVE),
        ):
            with pytest.raises(Forbidden):
                await forbidden


async def test_the_keyring_opens_each_tenants_key_once(front: Front) -> None:
    await front.make_tenant("acme")
    keyring = PgKeyring(VAULT, most=1)
    async with front.work.begin("acme") as tx:
        key = await keyring.of(tx)
        assert await keyring.of(tx) is key
        sealed = key.seal(b"a", "x")
    async with front.work.begin(PLATFORM) as tx:
        assert await keyring.of(tx) is not key
    async with front.work.begin("acme") as tx:
        assert (await keyring.of(tx)).open(sealed, "x") == b"a"
    async with front.work.begin("nobody") as tx:
        with pytest.raises(NotFound):
            await keyring.of(tx)


async def test_a_broken_tenant_key_is_the_operators_matter(
    front: Front, make_tenant: Callable[..., Awaitable[str]]
) -> None:
    await make_tenant("acme", wrapped_key=bytes(60))
    async with front.work.begin("acme") as tx:
        with pytest.raises(Misconfigured):
            await PgKeyring(VAULT).of(tx)


async def test_standing_in_ends_with_its_block_even_when_it_fails(front: Front) -> None:
    async with front.work.begin("acme") as tx:

        async def fail_as_other() -> None:
            async with standing_in(tx, "other") as connection:
                raise RuntimeError(await connection.fetchval("select current_setting('app.tenant_id')"))

        with pytest.raises(RuntimeError, match="other"):
            await fail_as_other()
        assert await tx.connection.fetchval("select current_setting('app.tenant_id')") == "acme"


async def test_one_tenant_never_sees_anothers_row(front: Front) -> None:
    await front.make_tenant("acme")
    await front.make_tenant("other")
    await front.make_key("other")
    async with front.work.begin("acme") as tx:
        assert [row["id"] for row in await tx.connection.fetch("select id from tenants")] == ["acme"]
        assert await tx.connection.fetch("select 1 from api_keys") == []
