# ruff: noqa: S608
"""No one across the wall: as the roles of a real installation, in tenant one, nothing of tenant two is there."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from io import BytesIO
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.kernel.ids import first_id_at

NOW = datetime.now(UTC)
HASH = "sha256:" + "0" * 64
# Tables that belong to no tenant; every other one must have a tenant and be closed.
TENANTLESS = {"schema_state", "migrations", "workers"}


def an_id() -> UUID:
    """In a monthly partition."""
    return UUID(bytes=first_id_at(NOW).bytes[:6] + uuid4().bytes[:10])


class Rows:
    """One row of each table for a tenant, in an order that foreign keys allow."""

    def __init__(self, tenant: str) -> None:
        self.recipient, self.template, self.notification = an_id(), an_id(), an_id()
        times = {"created_at": NOW, "updated_at": NOW}
        who = {"tenant_id": tenant}
        self.of: dict[str, dict[str, object]] = {
            "tenants": {"id": tenant, "name": "n", "mode": "live", "status": "active", "wrapped_key": b"k", **times},
            "api_keys": {**who, "id": an_id(), "name": "n", "scopes": [], "secret_hash": uuid4().bytes, "hint": "h",
                         "created_at": NOW},
            "audit": {**who, "id": an_id(), "actor": "a", "action": "a", "subject": "s", "request_id": "r"},
            "idempotency_keys": {**who, "key": "k", "route": "r", "fingerprint": b"f"},
            "recipients": {**who, "id": self.recipient, "external_id": "x", "kind": "user", "data_key": b"k", **times},
            "addresses": {**who, "id": an_id(), "recipient_id": self.recipient, "channel": 1, "hash": HASH,
                          "ciphertext": b"c", "status": "active", "given_at": NOW, **times},
            "suppressions": {**who, "id": an_id(), "channel": 1, "hash": HASH, "masked": "m", "reason": "manual",
                             "source": "s", "created_at": NOW},
            "gate_changes": {**who, "recipient_id": self.recipient},
            "templates": {**who, "id": self.template, "key": "k", "channel": 1, "category": 1, "name": "n", **times},
            "template_versions": {**who, "id": an_id(), "template_id": self.template, "number": 1, "state": "draft",
                                  "content": b"c", "content_hash": b"h", "created_at": NOW},
            "requests": {**who, "id": an_id(), "key_id": an_id(), "notification_ids": [self.notification]},
            "notifications": {**who, "id": self.notification, "retention": 1, "request_id": an_id(),
                              "recipient_id": self.recipient, "channel": 1, "category": 1, "priority": 1, "status": 2,
                              "gate": 1, "version_id": an_id(), "send_at": NOW, "expires_at": NOW, "payload": b"p"},
            "notification_dedupe": {**who, "dedupe_key": "k", "recipient_id": self.recipient, "channel": 1,
                                    "notification_id": self.notification},
            "queue": {**who, "channel": 1, "priority": 1, "due": NOW, "id": self.notification, "retention": 1},
            "lanes": {**who, "channel": 1, "priority": 1, "due": NOW},
            "claims": {**who, "id": an_id(), "worker_id": an_id(), "channel": 1, "priority": 1, "ids": [an_id()]},
            "attempts": {**who, "notification_id": self.notification, "retention": 1, "n": 1, "worker_id": an_id(),
                         "started_at": NOW},
            "timeline": {**who, "notification_id": self.notification, "retention": 1, "id": an_id(), "at": NOW,
                         "event": "e"},
            "outbox": {**who, "kind": 1, "subject_id": an_id()},
            "mailbox": {**who, "id": an_id(), "summary": b"s", "raw": b"r"},
        }  # fmt: skip


async def insert(connection: asyncpg.Connection, table: str, row: dict[str, object]) -> str:
    marks = ", ".join(f"${n}" for n in range(1, len(row) + 1))
    return await connection.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", *row.values())


@pytest.fixture
async def two_tenants(admin: asyncpg.Connection) -> None:
    await admin.fetch("select * from ensure_partitions(1)")
    for tenant in ("tenant-one", "tenant-two"):
        for table, row in Rows(tenant).of.items():
            await insert(admin, table, row)
    await admin.execute("analyze")


@pytest.fixture(params=["api", "worker"])
async def role(
    request: pytest.FixtureRequest, two_tenants: None, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> asyncpg.Connection:
    """The application's role, working for tenant one."""
    connection = await connect(request.param)
    await connection.execute("select set_config('app.tenant_id', 'tenant-one', false)")
    return connection


async def relations(connection: asyncpg.Connection, kinds: str) -> list[str]:
    rows = await connection.fetch(
        "select relname from pg_class where relnamespace = 'waypost'::regnamespace and relkind::text = any($1)"
        " order by relname",
        list(kinds),
    )
    return [row["relname"] for row in rows]


async def tables(connection: asyncpg.Connection) -> list[str]:
    return await relations(connection, "rpvmf")


async def partitions(connection: asyncpg.Connection) -> set[str]:
    rows = await connection.fetch(
        "select relname from pg_class"
        " where relnamespace = 'waypost'::regnamespace and relispartition and relkind in ('r', 'p')"
    )
    return {row["relname"] for row in rows}


async def complaints(admin: asyncpg.Connection) -> list[str]:
    inner = await partitions(admin)
    rows = await admin.fetch(
        "select c.relname, c.relkind::text as kind, c.relrowsecurity and c.relforcerowsecurity as closed,"
        " array(select p.polname::text || ':' || p.polcmd::text || ':' || coalesce((select string_agg(r.rolname, ',')"
        "   from pg_roles r where r.oid = any(p.polroles)), 'public') from pg_policy p where p.polrelid = c.oid"
        "   order by 1) as policies,"
        " exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') as has_tenant"
        " from pg_class c where c.relnamespace = 'waypost'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')"
    )
    found: list[str] = []
    for row in rows:
        name, policies = row["relname"], set(row["policies"])
        if name in inner:
            found += [f"{name}: a partition is reached through its parent only"] if policies else []
        elif name in TENANTLESS:
            found += [f"{name}: has a tenant after all"] if row["has_tenant"] else []
        elif row["kind"] in "vmf":
            found.append(f"{name}: views and foreign tables have no policies")
        else:
            found += [] if row["closed"] else [f"{name}: enable and force row level security"]
            found += [] if "tenant:*:public" in policies else [f"{name}: has no tenant policy"]
            extra = policies - {"tenant:*:public", "resolver:r:waypost_resolver"}
            found += [f"{name}: has policies of its own, {extra}"] if extra else []
            found += [] if name in Rows("x").of else [f"{name}: give this test a row of it"]
    return sorted(found)


async def test_every_table_is_closed_or_known_to_have_no_tenant(admin: asyncpg.Connection):
    assert await complaints(admin) == []


async def test_a_new_table_without_policy_is_noticed(admin: asyncpg.Connection):
    await admin.execute("create table waypost.leak (tenant_id text); create view waypost.hole as table waypost.tenants")
    await admin.execute("alter table queue no force row level security; create policy open on lanes using (true)")
    assert [complaint.split(":")[0] for complaint in await complaints(admin)] == [
        "hole", "lanes", "leak", "leak", "leak", "queue",
    ]  # fmt: skip


async def test_every_unique_and_foreign_key_names_the_tenant(admin: asyncpg.Connection):
    rows = await admin.fetch(
        "select c.relname, i.relname as index, a.attname from pg_index x join pg_class c on c.oid = x.indrelid"
        " join pg_class i on i.oid = x.indexrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]"
        " where c.relnamespace = 'waypost'::regnamespace and x.indisunique"
    )
    for row in rows:
        if row["relname"] not in TENANTLESS and row["relname"] != "tenants":
            assert row["attname"] == "tenant_id", row["index"]
    rows = await admin.fetch(
        "select conname, (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) as first"
        " from pg_constraint where connamespace = 'waypost'::regnamespace and contype = 'f'"
    )
    assert rows
    assert {row["first"] for row in rows} == {"tenant_id"}


async def test_select_and_copy_show_only_the_own_tenant(role: asyncpg.Connection):
    readable = 0
    for table in await tables(role):
        if table in TENANTLESS:
            continue
        key = "id" if table == "tenants" else "tenant_id"
        try:
            found = {row[key] for row in await role.fetch(f"select * from {table}")}
        except asyncpg.InsufficientPrivilegeError:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await role.execute(f"copy {table} to stdout")
            continue
        readable += 1
        assert found == {"tenant-one"}, table
        out = BytesIO()
        await role.copy_from_query(f"select * from {table}", output=out)
        assert b"tenant-one" in out.getvalue(), table
        assert b"tenant-two" not in out.getvalue(), table
    assert readable >= 10


async def test_without_a_tenant_nothing_is_there(role: asyncpg.Connection):
    for setting in ("''", "null"):
        await role.execute(f"select set_config('app.tenant_id', {setting}, false)")
        for table in set(await tables(role)) - TENANTLESS:
            try:
                assert await role.fetch(f"select * from {table}") == [], table
            except asyncpg.InsufficientPrivilegeError:
                continue


async def test_no_row_can_be_planted_in_another_tenant(role: asyncpg.Connection):
    for table, row in Rows("tenant-two").of.items():
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await insert(role, table, row)
        if table != "tenants":
            with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError)):
                await role.copy_records_to_table(table, records=[tuple(row.values())], columns=list(row))


async def attempt(role: asyncpg.Connection, statement: str) -> int | None:
    """How many rows a statement changed, undone at once; None where it was refused."""
    transaction = role.transaction()
    await transaction.start()
    try:
        return int((await role.execute(statement)).split()[-1])
    except asyncpg.InsufficientPrivilegeError:
        return None
    finally:
        await transaction.rollback()


async def test_updates_and_deletes_reach_only_the_own_tenant(role: asyncpg.Connection, admin: asyncpg.Connection):
    allowed = 0
    for table in set(await tables(role)) - TENANTLESS - await partitions(role):
        columns = await admin.fetch(
            "select attname from pg_attribute where attrelid = $1::text::regclass and attnum > 0"
            " and not attisdropped and attidentity = ''",
            table,
        )
        statements = [f"update {table} set {column['attname']} = {column['attname']}" for column in columns]
        for statement in [*statements, f"delete from {table}"]:
            changed = await attempt(role, statement)
            assert changed in (None, 1), statement
            allowed += changed or 0
        key = "id" if table == "tenants" else "tenant_id"
        assert await attempt(role, f"update {table} set {key} = 'tenant-two'") is None
    assert allowed > 20


async def test_nobody_may_truncate_refer_to_or_hang_triggers_on_a_table(role: asyncpg.Connection):
    for table in await tables(role):
        for right in ("truncate", "references", "trigger"):
            assert not await role.fetchval("select has_table_privilege($1::text, $2)", table, right), (table, right)
        columns = await role.fetchval(
            "select bool_or(has_column_privilege($1::text::regclass, attnum, 'references')) from pg_attribute"
            " where attrelid = $1::text::regclass and attnum > 0",
            table,
        )
        assert not columns, table


async def test_partitions_cannot_be_named(role: asyncpg.Connection):
    names = await partitions(role)
    assert any(name.endswith(NOW.strftime("_%Y_%m")) for name in names)
    for name in names:
        for statement in (
            f"select * from {name}",
            f"copy {name} to stdout",
            f"delete from {name}",
            f"table only {name}",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await role.execute(statement)


async def test_a_partition_made_later_is_as_closed(role: asyncpg.Connection, admin: asyncpg.Connection):
    before = await partitions(role)
    await admin.fetch("select * from ensure_partitions(5)")
    new = await partitions(role) - before
    assert len(new) == 4 * 7
    for name in new:
        for statement in (f"select * from {name}", f"insert into {name} default values", f"copy {name} to stdout"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await role.execute(statement)
        granted = await admin.fetchval(
            "select array_agg(distinct grantee::text) from information_schema.role_table_grants"
            " where table_schema = 'waypost' and table_name = $1",
            name,
        )
        assert set(granted) == {"waypost_owner", "waypost_dba"}


async def test_statistics_show_no_values(role: asyncpg.Connection):
    shown = await role.fetch("select tablename from pg_stats where schemaname = 'waypost'")
    assert {row["tablename"] for row in shown} <= TENANTLESS


async def test_sequences_are_closed_but_for_the_lanes_clock(role: asyncpg.Connection):
    worker = await role.fetchval("select current_user") == "waypost_worker"
    for name in await relations(role, "S"):
        rights = {
            right
            for right in ("usage", "select", "update")
            if await role.fetchval("select has_sequence_privilege($1::text, $2)", name, right)
        }
        assert rights == ({"select", "update"} if worker and name == "lane_clock" else set()), name


async def test_nothing_can_be_created(role: asyncpg.Connection):
    for statement in (
        "create table t (x int)",
        "create table public.t (x int)",
        "create temporary table t (x int)",
        "create schema s",
        "create function f() returns int language sql return 1",
        "create view v as select 1",
        "set role waypost_owner",
        "set role waypost_resolver",
        "set role waypost_dba",
        "set session authorization postgres",
        "alter table tenants disable row level security",
        "alter role current_user bypassrls",
        "create policy open on tenants using (true)",
        "set row_security = off; select * from tenants",
        "copy (select 1) to program 'true'",
        "select pg_read_file('PG_VERSION')",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await role.execute(statement)


async def test_the_roles_have_no_powers(admin: asyncpg.Connection):
    rows = await admin.fetch("select * from pg_roles where rolname like 'waypost%'")
    assert len(rows) == 5
    for row in rows:
        assert not row["rolsuper"]
        assert not row["rolcreaterole"]
        assert not row["rolcreatedb"]
        assert not row["rolreplication"]
        assert row["rolbypassrls"] == (row["rolname"] == "waypost_dba")
        assert row["rolcanlogin"] == (row["rolname"] != "waypost_resolver")
    members = await admin.fetch(
        "select roleid::regrole::text, member::regrole::text, inherit_option, admin_option from pg_auth_members"
        " where roleid::regrole::text like 'waypost%' or member::regrole::text like 'waypost%'"
    )
    assert [tuple(row) for row in members] == [("waypost_resolver", "waypost_owner", False, False)]


async def test_the_audit_log_cannot_be_changed(role: asyncpg.Connection):
    for statement in ("update audit set action = 'x'", "delete from audit", "truncate audit"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await role.execute(statement)


async def test_the_owner_is_blind_and_the_dba_sees_all(
    two_tenants: None, connect: Callable[..., Awaitable[asyncpg.Connection]]
):
    owner, dba = await connect("owner"), await connect("dba")
    for table in Rows("x").of:
        assert await owner.fetchval(f"select count(*) from {table}") == 0, table
        assert await dba.fetchval(f"select count(*) from {table}") == 2, table
        assert await owner.execute(f"delete from {table}") == "DELETE 0"


async def test_collisions_across_tenants_say_nothing(two_tenants: None, admin: asyncpg.Connection):
    """Every unique value of tenant one may also be tenant two's."""
    for table, row in Rows("tenant-one").of.items():
        if table in ("tenants", "outbox"):
            continue
        first = dict(await admin.fetchrow(f"select * from {table} where tenant_id = 'tenant-one'"))
        twin = {key: first[key] for key in row} | {"tenant_id": "tenant-three"}
        if table == "api_keys":
            await insert(admin, "tenants", Rows("tenant-three").of["tenants"])
        await insert(admin, table, twin)
