"""`schema.sql` is the whole current schema: replaying the migrations gives exactly the same."""

from importlib.resources import files
from typing import Any
from uuid import uuid4

import asyncpg

from waypost.adapters.postgres.dsn import for_database, for_role
from waypost.adapters.postgres.migrate import shipped_repeatables
from waypost.adapters.postgres.provision import OWNER, provision

SNAPSHOT = {
    "tables": """
        select c.relname, c.relkind::text, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, c.relispartition,
               pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), obj_description(c.oid), c.relacl::text,
               c.relowner::regrole::text,
               (select i.inhparent::regclass::text from pg_inherits i where i.inhrelid = c.oid)
        from pg_class c
        where c.relnamespace = 'waypost'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')""",
    "columns": """
        select a.attrelid::regclass::text, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               a.attidentity::text, a.attgenerated::text, a.attcollation::regcollation::text, a.attacl::text,
               pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum)
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = 'waypost'::regnamespace and a.attnum > 0 and not a.attisdropped and c.relkind <> 'i'""",
    "constraints": """
        select conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid), convalidated
        from pg_constraint where connamespace = 'waypost'::regnamespace""",
    "indexes": """
        select i.indrelid::regclass::text, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid), i.indisvalid,
               i.indisprimary from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relnamespace = 'waypost'::regnamespace""",
    "policies": """
        select tablename, policyname, permissive, roles::text, cmd, qual, with_check from pg_policies
        where schemaname = 'waypost'""",
    "functions": """
        select oid::regprocedure::text, pg_get_functiondef(oid), proowner::regrole::text, proacl::text from pg_proc
        where pronamespace = 'waypost'::regnamespace""",
    "triggers": "select tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal",
    "types": """
        select typname, typtype::text, typacl::text from pg_type
        where typnamespace = 'waypost'::regnamespace and typtype <> 'b'""",
    "sequences": "select * from pg_sequences where schemaname = 'waypost'",
    "defaults": "select defaclrole::regrole::text, defaclobjtype::text, defaclacl::text from pg_default_acl",
    "schema": "select nspname, nspowner::regrole::text, nspacl::text from pg_namespace where nspname = 'waypost'",
}


async def snapshot(dsn: str) -> dict[str, list[str]]:
    connection = await asyncpg.connect(dsn)
    try:
        found = {name: await connection.fetch(query) for name, query in SNAPSHOT.items()}
    finally:
        await connection.close()
    return {
        # The ledger of migrations is made by the act of migrating, not by a migration.
        name: sorted(line for row in rows if "migrations" not in (line := repr(tuple(row))))
        for name, rows in found.items()
    }


async def test_replaying_the_migrations_equals_schema_sql(
    database: Any, database_server: str, passwords: dict[str, str]
):
    name = f"t_{uuid4().hex}"
    server = await asyncpg.connect(database_server)
    await server.execute(f"create database {name}")
    try:
        dsn = for_database(database_server, name)
        await provision(dsn, passwords)
        owner = await asyncpg.connect(
            for_role(dsn, OWNER, passwords[OWNER]), server_settings={"search_path": "waypost"}
        )
        async with owner.transaction():
            await owner.execute(files("waypost.adapters.postgres").joinpath("schema.sql").read_text(encoding="utf-8"))
        for file in shipped_repeatables():
            async with owner.transaction():
                await owner.execute(file.text)
        await owner.close()
        written, replayed = await snapshot(dsn), await snapshot(database.admin)
    finally:
        await server.execute(f"drop database {name} with (force)")
        await server.close()
    for part in SNAPSHOT:
        missing, extra = set(replayed[part]) - set(written[part]), set(written[part]) - set(replayed[part])
        assert not missing, f"schema.sql lacks {part} that the migrations make"
        assert not extra, f"schema.sql has {part} that the migrations do not make"
    assert len(replayed["tables"]) > 20
    assert len(replayed["policies"]) > 20


async def test_the_snapshot_notices_small_changes(database: Any, admin: asyncpg.Connection):
    before = await snapshot(database.admin)
    for statement, part in {
        "alter table mailbox alter column raw drop not null": "columns",
        "grant delete on audit to waypost_api": "tables",
        "drop policy resolver on outbox": "policies",
        "drop index claims_of_worker": "indexes",
        "alter table queue reset (fillfactor)": "tables",
        "alter table mailbox no force row level security": "tables",
        "alter function next_lane_due() owner to waypost_owner": "functions",
        "grant execute on function due_lanes(integer) to public": "functions",
    }.items():
        await admin.execute(statement)
        after = await snapshot(database.admin)
        assert after[part] != before[part], statement
        before = after
