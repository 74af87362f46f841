"""Keys and the one entry point they open, on the real database and as the API's role."""

from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest
from tests.tenants_front import TENANT_SCOPES, Front, front

from waypost.kernel.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Refused,
    Unauthenticated,
)
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.model import TenantStatus
from waypost.tenants.platform import create_platform_key, operator_scope

__all__ = ["front"]


async def test_a_key_opens_its_tenant_and_nothing_else(front: Front) -> None:
    await front.make_tenant("acme")
    await front.make_tenant("shop", mode=TenantMode.LIVE)
    acme, shop = await front.make_key("acme"), await front.make_key("shop")
    assert acme.secret.startswith("wp_test_")
    assert shop.secret.startswith("wp_live_")
    assert acme.secret not in repr(acme)
    scope = await front.enter(acme.secret)
    assert (scope.tenant_id, scope.key_tenant, scope.mode) == ("acme", "acme", TenantMode.SANDBOX)
    assert scope.permissions == frozenset(TENANT_SCOPES)
    assert (await front.enter(acme.secret, "acme")) == scope
    for header in ("shop", PLATFORM, "nobody", ""):
        with pytest.raises(Forbidden) as refusal:
            await front.enter(acme.secret, header)
        assert refusal.value.code == "other_tenant"


async def test_only_a_hash_of_the_secret_is_kept(front: Front, admin: asyncpg.Connection) -> None:
    await front.make_tenant("acme")
    key = await front.make_key("acme")
    row = await admin.fetchrow("select api_keys::text as everything, hint from waypost.api_keys")
    assert key.secret not in row["everything"]
    assert key.secret[8:30] not in row["everything"]
    assert row["hint"] == f"wp_test_…{key.secret[-4:]}"


async def test_unknown_expired_and_revoked_keys_look_the_same(front: Front) -> None:
    await front.make_tenant("acme")
    good = (await front.make_key("acme")).secret
    expiring = await front.make_key("acme", lives=timedelta(seconds=60))
    revoked = await front.make_key("acme")
    assert await front.enter(expiring.secret)
    await front.clock.advance(61)
    async with front.work.begin(PLATFORM) as tx:
        await front.keys.revoke(tx, operator_scope("req"), revoked.key.id, tenant_id="acme")
    mistyped = good[:20] + ("A" if good[20] != "A" else "B") + good[21:]
    messages = set[str]()
    for secret in (None, "", "wp_test_", mistyped, good + "x", "é" * 60, expiring.secret, revoked.secret, "x" * 9999):
        with pytest.raises(Unauthenticated) as refusal:
            await front.enter(secret)
        messages.add(str(refusal.value))
    assert len(messages) == 1
    assert await front.enter(good)


async def test_a_revocation_is_felt_at_once_here_and_within_seconds_elsewhere(front: Front) -> None:
    await front.make_tenant("acme")
    key = await front.make_key("acme")
    elsewhere = front.another_process()
    await front.enter(key.secret)
    await elsewhere.enter(key.secret)
    async with front.work.begin(PLATFORM) as tx:
        await front.keys.revoke(tx, operator_scope("req"), key.key.id, tenant_id="acme")
        await front.keys.revoke(tx, operator_scope("req"), key.key.id, tenant_id="acme")
    with pytest.raises(Unauthenticated):
        await front.enter(key.secret)
    await elsewhere.enter(key.secret)
    await front.clock.advance(5.1)
    with pytest.raises(Unauthenticated):
        await elsewhere.enter(key.secret)
    async with front.work.begin("acme") as tx:
        actions = [entry.action for entry in (await front.audit.page(tx, _reader("acme"), None, None)).items]
    assert actions.count("api_key.revoked") == 1


async def test_status_is_enforced_at_the_door(front: Front) -> None:
    await front.make_tenant("acme", status=TenantStatus.ONBOARDING)
    tenants_key = (await front.make_key("acme")).secret
    platform_key = (await create_platform_key(front.work, front.keys, name="root", request_id="req")).secret

    async def enter_both_ways() -> list[Scope]:
        return [await front.enter(tenants_key), await front.enter(platform_key, "acme")]

    for scope in await enter_both_ways():
        scope.demand(Permission.TEMPLATES_WRITE)
        assert _refusal_code(scope, Permission.NOTIFICATIONS_SEND) == "tenant_onboarding"
    await front.set_status("acme", TenantStatus.ACTIVE)
    for scope in await enter_both_ways():
        scope.demand(Permission.NOTIFICATIONS_SEND)
    await front.set_status("acme", TenantStatus.SUSPENDED)
    for scope in await enter_both_ways():
        scope.demand(Permission.NOTIFICATIONS_READ)
        for permission in (Permission.NOTIFICATIONS_SEND, Permission.RECIPIENTS_WRITE, Permission.KEYS_MANAGE):
            assert _refusal_code(scope, permission) == "tenant_suspended"
        assert _refusal_code(scope, Permission.TENANTS_MANAGE) == "missing_scope"
    await front.set_status("acme", TenantStatus.DELETING)
    for entering in (front.enter(tenants_key), front.enter(platform_key, "acme")):
        with pytest.raises(Forbidden) as refusal:
            await entering
        assert refusal.value.code == "tenant_deleting"
    with pytest.raises(Conflict):
        await front.set_status("acme", TenantStatus.ACTIVE)


async def test_a_platform_key_acts_for_the_tenant_it_names(front: Front) -> None:
    await front.make_tenant("acme")
    root = await create_platform_key(front.work, front.keys, name="root", request_id="req")
    assert root.secret.startswith("wp_platform_")
    acting = await front.enter(root.secret, "acme")
    assert (acting.tenant_id, acting.key_tenant, acting.key_id) == ("acme", PLATFORM, root.key.id)
    assert acting.permissions == frozenset(TENANT_SCOPES)
    own = await front.enter(root.secret)
    assert own == await front.enter(root.secret, PLATFORM)
    assert own.is_platform
    own.demand(Permission.TENANTS_MANAGE)
    assert _refusal_code(own, Permission.NOTIFICATIONS_SEND) == "tenant_required"
    for unknown in ("nobody", "", "Not A Slug", "x\0y"):
        with pytest.raises(NotFound):
            await front.enter(root.secret, unknown)


async def test_acting_needs_its_scope(front: Front) -> None:
    await front.make_tenant("acme")
    scopes = (Permission.TENANTS_MANAGE, Permission.KEYS_MANAGE)
    key = await create_platform_key(front.work, front.keys, name="manager", request_id="req", scopes=scopes)
    with pytest.raises(Forbidden) as refusal:
        await front.enter(key.secret, "acme")
    assert refusal.value.code == "missing_scope"
    scope = await front.enter(key.secret)
    async with front.work.begin(PLATFORM) as tx:
        with pytest.raises(Forbidden):
            await front.keys.create(tx, scope, name="x", scopes=["audit:read"], tenant_id="acme")


async def test_a_key_grants_no_more_than_it_has(front: Front) -> None:
    await front.make_tenant("acme")
    await front.make_tenant("other")
    held = (Permission.KEYS_MANAGE, Permission.TEMPLATES_READ)
    scope = await front.enter((await front.make_key("acme", held)).secret)
    async with front.work.begin("acme") as tx:
        made = await front.keys.create(tx, scope, name="reader", scopes=["templates:read"])
        assert made.key.created_by == scope.key_id
        with pytest.raises(Forbidden) as beyond:
            await front.keys.create(tx, scope, name="x", scopes=["templates:read", "templates:write"])
        with pytest.raises(Refused) as platforms:
            await front.keys.create(tx, scope, name="x", scopes=["tenants:act"])
        with pytest.raises(Refused) as unknown:
            await front.keys.create(tx, scope, name="x", scopes=["templates:read", "everything"])
        with pytest.raises(Refused) as past:
            await front.keys.create(
                tx, scope, name="x", scopes=["templates:read"], expires_at=front.clock.now() - timedelta(seconds=1)
            )
        with pytest.raises(Forbidden) as elsewhere:
            await front.keys.create(tx, scope, name="x", scopes=["templates:read"], tenant_id="other")
    assert beyond.value.code == "scope_not_held"
    assert platforms.value.code == "platform_scope"
    assert unknown.value.errors[0].pointer == "/scopes/1"
    assert past.value.errors[0].pointer == "/expires_at"
    assert elsewhere.value.code == "other_tenant"
    async with front.work.begin(PLATFORM) as tx:
        with pytest.raises(Refused) as nobody:
            await front.keys.create(tx, operator_scope("req"), name="x", scopes=["templates:read"], tenant_id="nobody")
    assert nobody.value.errors[0].pointer == "/tenant_id"


async def test_keys_are_listed_newest_first_and_per_tenant(front: Front) -> None:
    await front.make_tenant("acme")
    await front.make_tenant("other")
    made = []
    for _ in range(3):
        made.append((await front.make_key("acme")).key.id)
        await front.clock.advance(1)
    foreign = await front.make_key("other")
    scope = await front.enter((await front.make_key("acme")).secret)
    async with front.work.begin("acme") as tx:
        page = await front.keys.page(tx, scope, None, 3)
        rest = await front.keys.page(tx, scope, page.next, 3)
        with pytest.raises(NotFound):
            await front.keys.revoke(tx, scope, foreign.key.id)
        with pytest.raises(NotFound):
            await front.keys.get(tx, scope, foreign.key.id)
        assert (await front.keys.get(tx, scope, made[0])).id == made[0]
    assert [key.id for key in (*page.items, *rest.items)] == [scope.key_id, *reversed(made)]
    assert await front.enter(foreign.secret)


async def test_the_last_use_is_noted_at_most_once_a_minute(front: Front) -> None:
    await front.make_tenant("acme")
    key = await front.make_key("acme")

    async def last_used() -> object:
        async with front.work.begin("acme") as tx:
            return (await front.keys.get(tx, await front.enter(key.secret), key.key.id)).last_used_at

    start = front.clock.now()
    assert await last_used() == start
    await front.clock.advance(30)
    assert await last_used() == start
    await front.clock.advance(31)
    assert await last_used() == start + timedelta(seconds=61)


def _refusal_code(scope: Scope, permission: Permission) -> str:
    with pytest.raises(Forbidden) as refusal:
        scope.demand(permission)
    return refusal.value.code


def _reader(tenant_id: str) -> Scope:
    return replace(operator_scope("req"), tenant_id=tenant_id, key_tenant=tenant_id)
