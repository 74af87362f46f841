"""1. No one across the wall: as the roles of a real installation, in tenant one, nothing of tenant two is there."""

from typing import Any

import asyncpg
import pytest


async def complaints(wall: Any) -> list[str]:
    """What the catalogue says about tables that are not closed."""
    inner = await wall.partitions()
    rows = await wall.admin.fetch(
        "select c.oid::regclass::text as relname, c.relkind::text as kind,"
        " c.relrowsecurity and c.relforcerowsecurity as closed,"
        " array(select p.polname::text || ':' || p.polcmd::text || ':' || coalesce((select string_agg(r.rolname, ',')"
        "   from pg_roles r where r.oid = any(p.polroles)), 'public') from pg_policy p where p.polrelid = c.oid"
        "   order by 1) as policies,"
        " exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') as has_tenant"
        " from pg_class c where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relnamespace in"
        " (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')"
    )
    found: list[str] = []
    for row in rows:
        name, policies = row["relname"], set(row["policies"])
        if name in inner:
            found += [f"{name}: a partition is reached through its parent only"] if policies else []
        elif name in wall.TENANTLESS:
            found += [f"{name}: has a tenant after all"] if row["has_tenant"] else []
        elif row["kind"] in "vmf":
            found.append(f"{name}: views and foreign tables have no policies")
        else:
            found += [] if row["closed"] else [f"{name}: enable and force row level security"]
            found += [] if "tenant:*:public" in policies else [f"{name}: has no tenant policy"]
            extra = policies - {"tenant:*:public", "resolver:r:waypost_resolver"}
            extra -= {"platform:r:waypost_api,waypost_worker"} if name in wall.SHARED else set()
            found += [f"{name}: has policies of its own, {extra}"] if extra else []
            found += [] if name in wall.rows_of("x") else [f"{name}: give the walk a row of it"]
    return sorted(found)


async def test_every_table_is_closed_or_known_to_have_no_tenant(wall: Any) -> None:
    assert await complaints(wall) == []


async def test_a_new_table_without_policy_is_noticed(wall: Any) -> None:
    await wall.admin.execute("create table waypost.leak (tenant_id text); create table public.aside (tenant_id text)")
    await wall.admin.execute("create view waypost.hole as table waypost.tenants")
    await wall.admin.execute("alter table queue no force row level security; create policy open on lanes using (true)")
    assert {complaint.split(":")[0] for complaint in await complaints(wall)} == {
        "hole", "lanes", "leak", "public.aside", "queue",
    }  # fmt: skip


async def test_the_walk_over_everything_finds_nothing_of_tenant_two(role: asyncpg.Connection, wall: Any) -> None:
    before = await wall.digest()
    assert await wall.breaches(role) == []
    assert await wall.digest() == before


# Each on a table of its own, so that one walk can find them all.
HOLES = {
    "grant select on {partition} to {role}": "select t::text from {partition} t: shows tenant two",
    "grant insert on {partition} to {role}": "insert into {partition}: planted in tenant two",
    "alter table recipients disable row level security": "select t::text from recipients t: shows tenant two",
    "create policy open on addresses for select using (true)": "copy select * from addresses: shows tenant two",
    "create policy open on queue for delete using (true)": "delete from queue: 2 rows",
    "create policy open on outbox for insert with check (true)": "insert into outbox: planted in tenant two",
    "create view hole as table tenants; grant select on hole to {role}": "copy select * from hole: shows tenant two",
    "create materialized view heap as table tenants; grant select on heap to {role}": "copy select * from heap: shows"
    " tenant two",
    "grant references on tenants to {role}": "tenants: may references",
    "grant references (id) on templates to {role}": "templates: its columns may be referred to",
    "grant truncate on suppressions to {role}": "truncate suppressions: was done",
    "grant usage on sequence outbox_id_seq to {role}": "outbox_id_seq: ['usage']",
}  # fmt: skip


async def test_the_walk_finds_every_kind_of_hole(role: asyncpg.Connection, wall: Any) -> None:
    """A walk that finds nothing proves nothing unless it would have found these."""
    names = {
        "role": await role.fetchval("select current_user"),
        "partition": f"notifications_standard_{wall.NOW:%Y_%m}",
    }
    for hole in HOLES:
        await wall.admin.execute(hole.format(**names))
    found = await wall.breaches(role)
    assert [wanted for wanted in HOLES.values() if wanted.format(**names) not in found] == []


async def test_every_unique_and_foreign_key_names_the_tenant(wall: Any) -> None:
    rows = await wall.admin.fetch(
        "select c.relname, i.relname as index, a.attname from pg_index x join pg_class c on c.oid = x.indrelid"
        " join pg_class i on i.oid = x.indexrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]"
        " where c.relnamespace = 'waypost'::regnamespace and x.indisunique"
    )
    for row in rows:
        if row["relname"] not in wall.TENANTLESS and row["relname"] != "tenants":
            assert row["attname"] == "tenant_id", row["index"]
    rows = await wall.admin.fetch(
        "select conname, (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) as first"
        " from pg_constraint where connamespace = 'waypost'::regnamespace and contype = 'f'"
    )
    assert rows
    assert {row["first"] for row in rows} == {"tenant_id"}


async def test_the_own_rows_are_there(role: asyncpg.Connection, wall: Any) -> None:
    """What the walk may read is not empty: silence would prove nothing."""
    readable = 0
    for table in wall.rows_of(wall.OWN):
        try:
            found = await role.fetchval(f"select count(*) from {table}")
        except asyncpg.InsufficientPrivilegeError:
            continue
        assert found == 1, table
        readable += 1
    assert readable >= 10


async def test_without_a_tenant_nothing_is_there(role: asyncpg.Connection, wall: Any) -> None:
    for setting in ("''", "null"):
        await role.execute(f"select set_config('app.tenant_id', {setting}, false)")
        for table in set(await wall.tables()) - wall.TENANTLESS:
            try:
                assert await role.fetch(f"select * from {table}") == [], table
            except asyncpg.InsufficientPrivilegeError:
                continue


async def test_partitions_cannot_be_named(role: asyncpg.Connection, wall: Any) -> None:
    names = await wall.partitions()
    assert any(name.endswith(f"_{wall.NOW:%Y_%m}") for name in names)
    for name in names:
        for statement in (
            f"select * from {name}",
            f"copy {name} to stdout",
            f"delete from {name}",
            f"table only {name}",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await role.execute(statement)


async def test_statistics_show_no_values(role: asyncpg.Connection, wall: Any) -> None:
    shown = await role.fetch("select tablename from pg_stats where schemaname = 'waypost'")
    assert {row["tablename"] for row in shown} <= wall.TENANTLESS


async def test_functions_called_for_another_tenant_change_nothing_there(role: asyncpg.Connection, wall: Any) -> None:
    """Every function the role may call, with tenant two's words and ids, and with nothing."""
    before = await wall.digest()
    # What works inside the tenant it is told, or that the queue tells it: the worker serves all tenants.
    trusted = {"claim", "claim_suspect", "settle", "book_turn"}
    ids = [row["id"] for row in await wall.admin.fetch("select id from queue where tenant_id = $1", wall.FOREIGN)]
    samples = {
        "text": wall.FOREIGN, "uuid": ids[0], "uuid[]": ids, "smallint": 1, "smallint[]": [1], "bigint": 1,
        "integer": 1, "integer[]": [1], "timestamp with time zone": wall.NOW, "bytea": b"h",
        "timestamp without time zone": wall.NOW.replace(tzinfo=None), "timestamp with time zone[]": [wall.NOW],
    }  # fmt: skip
    called = 0
    for row in await wall.admin.fetch(
        "select proname, oid::regprocedure::text as signature, array(select format_type(t, null) from"
        " unnest(proargtypes) with ordinality as a (t, n) order by n) as types from pg_proc"
        " where pronamespace = 'waypost'::regnamespace"
    ):
        if not await role.fetchval("select has_function_privilege($1::text, 'execute')", row["signature"]):
            continue
        called += 1
        if row["proname"] in trusted:
            continue
        marks = ", ".join(f"${n}::{kind}" for n, kind in enumerate(row["types"], 1))
        for arguments in ([samples.get(kind) for kind in row["types"]], [None] * len(row["types"])):
            try:
                await role.fetch(f"select * from waypost.{row['proname']}({marks})", *arguments)
            except asyncpg.PostgresError as refusal:
                told = str(refusal) + str(refusal.detail)
            else:
                told = ""
            assert wall.FOREIGN not in told, row["signature"]
    assert called >= 5
    assert await wall.digest() == before


async def test_nothing_can_be_created(role: asyncpg.Connection) -> None:
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
        "select pg_ls_dir('.')",
        "select lo_import('/etc/hostname')",
        "load 'auto_explain'",
        "alter system set log_statement = 'all'",
        "create extension dblink",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await role.execute(statement)


async def test_the_roles_have_no_powers(admin: asyncpg.Connection) -> None:
    rows = await admin.fetch("select * from pg_roles where rolname like 'waypost%'")
    assert len(rows) == 5
    for row in rows:
        assert not row["rolsuper"]
        assert not row["rolcreaterole"]
        assert not row["rolcreatedb"]
        assert not row["rolreplication"]
        assert row["rolbypassrls"] == (row["rolname"] == "waypost_dba")
        assert row["rolcanlogin"] == (row["rolname"] != "waypost_resolver")
    owners = await admin.fetch(
        "select distinct relowner::regrole::text as owner from pg_class where relnamespace = 'waypost'::regnamespace"
    )
    assert [row["owner"] for row in owners] == ["waypost_owner"]
    members = await admin.fetch(
        "select roleid::regrole::text, member::regrole::text, inherit_option, admin_option from pg_auth_members"
        " where roleid::regrole::text like 'waypost%' or member::regrole::text like 'waypost%'"
    )
    assert [tuple(row) for row in members] == [("waypost_resolver", "waypost_owner", False, False)]


async def test_the_audit_log_cannot_be_changed(role: asyncpg.Connection) -> None:
    for statement in ("update audit set action = 'x'", "delete from audit", "truncate audit"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await role.execute(statement)
