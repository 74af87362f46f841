"""Migrations are applied once, in order, by one process at a time, and only by code that the schema still allows."""

import asyncio
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.migrate import (
    Migration,
    Repeatable,
    apply,
    check_schema,
    code_version,
    migrate,
    shipped_migrations,
    shipped_repeatables,
)
from waypost.kernel.errors import Misconfigured, Unavailable

NEXT = Migration(
    number=code_version() + 1, name="9999_next.sql", text="-- oldest_code: 1\ncreate table next (x int);", oldest_code=1
)


async def table_exists(admin: asyncpg.Connection, name: str) -> bool:
    return await admin.fetchval("select to_regclass('waypost.' || $1::text) is not null", name)


def test_shipped_migrations_are_numbered_without_gaps():
    numbers = [migration.number for migration in shipped_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(1 <= migration.oldest_code <= migration.number for migration in shipped_migrations())


async def test_a_migrated_database_says_which_schema_it_is(database: Any, admin: asyncpg.Connection):
    assert await migrate(database.owner) == []
    state = await admin.fetchrow("select version, oldest_code from schema_state")
    assert tuple(state) == (code_version(), shipped_migrations()[-1].oldest_code)
    names = {row["name"] for row in await admin.fetch("select name from migrations")}
    assert names == {m.name for m in (*shipped_migrations(), *shipped_repeatables())}


async def test_processes_that_start_at_once_apply_each_migration_once(database: Any, admin: asyncpg.Connection):
    migrations = [*shipped_migrations(), NEXT]
    applied = await asyncio.gather(*(apply(database.owner, migrations, shipped_repeatables()) for _ in range(4)))
    assert sorted(applied, key=len) == [[], [], [], [NEXT.name]]
    assert await admin.fetchval("select count(*) from migrations where name = $1", NEXT.name) == 1


async def test_a_migration_that_fails_leaves_nothing(database: Any, admin: asyncpg.Connection):
    broken = replace(NEXT, text="create table next (x int); select 1/0;")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await apply(database.owner, [*shipped_migrations(), broken], [])
    assert not await table_exists(admin, "next")
    assert await admin.fetchval("select version from schema_state") == code_version()
    assert await apply(database.owner, [*shipped_migrations(), NEXT], []) == [NEXT.name]


async def test_a_changed_migration_is_refused_by_name(database: Any):
    changed = [replace(migration, text=migration.text + "\n") for migration in shipped_migrations()]
    with pytest.raises(Misconfigured, match=rf"{changed[0].name} was changed"):
        await apply(database.owner, changed, [])


async def test_older_code_runs_on_a_newer_schema_that_allows_it(database: Any, admin: asyncpg.Connection):
    await apply(database.owner, [*shipped_migrations(), NEXT], shipped_repeatables())
    assert await migrate(database.owner) == []
    await check_schema(admin)
    assert await admin.fetchval("select version from schema_state") == NEXT.number


async def test_code_too_old_refuses_to_start(database: Any, admin: asyncpg.Connection):
    breaking = replace(NEXT, oldest_code=NEXT.number)
    await apply(database.owner, [*shipped_migrations(), breaking], shipped_repeatables())
    for start in (migrate(database.owner), check_schema(admin)):
        with pytest.raises(Misconfigured, match="too old for its database") as refused:
            await start
        assert "\n" not in refused.value.detail
        assert f"allows {NEXT.number} and newer" in refused.value.detail


async def test_code_newer_than_the_schema_asks_for_a_migration(admin: asyncpg.Connection):
    with pytest.raises(Misconfigured, match="waypost migrate"):
        await check_schema(admin, code=code_version() + 1)


async def test_an_empty_database_asks_for_a_migration(database_server: str):
    connection = await asyncpg.connect(database_server)
    try:
        with pytest.raises(Misconfigured, match="no Waypost schema yet"):
            await check_schema(connection)
    finally:
        await connection.close()


async def test_repeatable_files_are_applied_when_they_change_but_never_backwards(
    database: Any, admin: asyncpg.Connection
):
    def speak(word: str, revision: int) -> list[Repeatable]:
        text = f"create or replace function waypost.word() returns text language sql return '{word}';"
        return [Repeatable(name="words.sql", text=text, revision=revision)]

    async def apply_words(word: str, revision: int) -> tuple[bool, str]:
        done = await apply(database.owner, shipped_migrations(), speak(word, revision))
        return bool(done), await admin.fetchval("select waypost.word()")

    assert await apply_words("first", 1) == (True, "first")
    assert await apply_words("first", 1) == (False, "first")
    assert await apply_words("mended", 1) == (True, "mended")
    assert await apply_words("newer", 2) == (True, "newer")
    assert await apply_words("mended", 1) == (False, "newer"), "an older process starting again beside a newer one"


async def test_the_shipped_repeatables_apply_again_over_themselves(database: Any, admin: asyncpg.Connection):
    before = await admin.fetchval("select count(*) from pg_proc where pronamespace = 'waypost'::regnamespace")
    again = [replace(file, text=file.text + "\n-- changed") for file in shipped_repeatables()]
    assert await apply(database.owner, shipped_migrations(), again) == [file.name for file in again]
    assert await apply(database.owner, shipped_migrations(), shipped_repeatables()) == [file.name for file in again]
    after = await admin.fetchval("select count(*) from pg_proc where pronamespace = 'waypost'::regnamespace")
    assert after == before


async def test_a_leftover_invalid_index_is_named(database: Any, admin: asyncpg.Connection):
    await admin.execute("create index half_built on waypost.tenants (name)")
    await admin.execute("update pg_index set indisvalid = false where indexrelid = 'half_built'::regclass")
    with pytest.raises(Misconfigured, match=r"waypost\.half_built"):
        await migrate(database.owner)


async def test_a_migration_does_not_queue_everyone_behind_a_lock(database: Any, admin: asyncpg.Connection):
    """It gives up after its lock time-out instead; shortened here by what the session may be told."""
    transaction = admin.transaction()
    await transaction.start()
    await admin.execute("lock table waypost.tenants in access share mode")
    blocked = replace(NEXT, text="set local lock_timeout = '50ms'; alter table tenants add column y int;")
    with pytest.raises(Unavailable, match="try again"):
        await apply(database.owner, [*shipped_migrations(), blocked], [])
    await transaction.rollback()
