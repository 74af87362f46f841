"""The audit log: written with the change, in every log it concerns, and by nobody altered."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.work import PgWork
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Forbidden
from waypost.kernel.ids import show
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.tenants.audit import Audit
from waypost.tenants.platform import operator_scope

Connect = Callable[..., Awaitable[asyncpg.Connection]]


@pytest.fixture
def audit(clock: VirtualClock) -> Audit:
    return Audit(PgAuditStore(), clock)


def _scope(tenant_id: str, *, key_tenant: str | None = None) -> Scope:
    return replace(operator_scope("req_9"), tenant_id=tenant_id, key_tenant=key_tenant or tenant_id, key_id=uuid4())


async def test_entries_are_listed_newest_first(audit: Audit, api_work: PgWork, clock: VirtualClock) -> None:
    scope = _scope("acme")
    start = clock.now()
    for number in range(5):
        async with api_work.begin("acme") as tx:
            await audit.record(tx, scope, "template.published", f"tpl_{number}", {"number": number})
        await clock.advance(1)
    async with api_work.begin("acme") as tx:
        page = await audit.page(tx, scope, None, 3)
        rest = await audit.page(tx, scope, page.next, 3)
    entries = [*page.items, *rest.items]
    assert [entry.detail["number"] for entry in entries] == [4, 3, 2, 1, 0]
    assert rest.next is None
    assert entries[0].at == start + timedelta(seconds=4)
    assert (entries[0].actor, entries[0].acting_as) == (show("key", scope.key_id), None)
    assert (entries[0].action, entries[0].subject, entries[0].request_id) == ("template.published", "tpl_4", "req_9")


async def test_reading_needs_its_scope(audit: Audit, api_work: PgWork) -> None:
    scope = replace(_scope("acme"), permissions=frozenset(Permission) - {Permission.AUDIT_READ})
    async with api_work.begin("acme") as tx:
        with pytest.raises(Forbidden):
            await audit.page(tx, scope, None, None)


async def test_what_the_platform_does_to_a_tenant_is_in_both_logs(audit: Audit, api_work: PgWork) -> None:
    async with api_work.begin(PLATFORM) as tx:
        await audit.record(tx, operator_scope("req_1"), "tenant.changed", "acme", about="acme")
    async with api_work.begin("acme") as tx:
        await audit.record(tx, _scope("acme", key_tenant=PLATFORM), "template.published", "tpl_1")
        entries = (await audit.page(tx, _scope("acme"), None, None)).items
    # Within one millisecond either may come first.
    published, changed = sorted(entries, key=lambda entry: entry.action)
    assert (published.action, published.acting_as) == ("template.published", "acme")
    assert (changed.action, changed.acting_as, changed.actor) == ("tenant.changed", "acme", "operator")
    async with api_work.begin(PLATFORM) as tx:
        (own,) = (await audit.page(tx, operator_scope("req"), None, None)).items
    assert (own.action, own.acting_as) == ("tenant.changed", None)


async def test_a_change_that_is_rolled_back_leaves_no_entry(audit: Audit, api_work: PgWork) -> None:
    async def fail() -> None:
        async with api_work.begin("acme") as tx:
            await audit.record(tx, _scope("acme"), "template.published", "tpl_1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    async with api_work.begin("acme") as tx:
        assert (await audit.page(tx, _scope("acme"), None, None)).items == []


@pytest.mark.parametrize("role", ["api", "worker"])
@pytest.mark.parametrize(
    "statement", ["update audit set action = 'x'", "delete from audit", "truncate audit", "drop table audit"]
)
async def test_no_role_of_the_application_can_alter_the_log(
    audit: Audit, api_work: PgWork, connect: Connect, role: str, statement: str
) -> None:
    async with api_work.begin("acme") as tx:
        await audit.record(tx, _scope("acme"), "template.published", "tpl_1")
    connection = await connect(role)
    await connection.execute("select set_config('app.tenant_id', 'acme', false)")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute(statement)


async def test_logs_are_apart(audit: Audit, api_work: PgWork) -> None:
    async with api_work.begin("acme") as tx:
        await audit.record(tx, _scope("acme"), "template.published", "tpl_1")
    async with api_work.begin("other") as tx:
        assert (await audit.page(tx, _scope("other"), None, None)).items == []
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await tx.connection.execute(
                "insert into audit (tenant_id, id, actor, action, subject, request_id) "
                "values ('acme', gen_random_uuid(), 'x', 'x', 'x', 'x')"
            )
