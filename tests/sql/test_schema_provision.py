"""Roles and schema are made by whoever administers the server, superuser or not, again and at once."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from waypost.adapters.embedded.server import EmbeddedServer
from waypost.adapters.postgres.connection import connect as open_connection
from waypost.adapters.postgres.dsn import for_database, for_role
from waypost.adapters.postgres.migrate import migrate, shipped_migrations, shipped_repeatables
from waypost.adapters.postgres.provision import API, DBA, LOGIN_ROLES, OWNER, WORKER, provision, scram_verifier
from waypost.kernel.errors import Misconfigured

PASSWORDS = {role: f"secret-{role}" for role in LOGIN_ROLES}
OTHERS = {role: f"other-{role}" for role in LOGIN_ROLES}


@pytest.fixture
async def fresh_server(new_data_dir: Path) -> AsyncIterator[str]:
    """A server without our roles: they belong to the whole server, so the run's shared one will not do."""
    server = EmbeddedServer(new_data_dir, settings={"fsync": "off"})
    yield await server.start()
    await server.stop()


async def can_connect(dsn: str, role: str, passwords: dict[str, str]) -> bool:
    try:
        connection = await asyncpg.connect(for_role(dsn, role, passwords[role]))
    except (asyncpg.InvalidPasswordError, asyncpg.InsufficientPrivilegeError):
        return False
    await connection.close()
    return True


async def test_an_administrator_who_is_no_superuser_provisions_and_everything_works(fresh_server: str):
    superuser = await asyncpg.connect(fresh_server)
    await superuser.execute("create role managed login createrole createdb password 'pw'")
    await superuser.execute("create database product owner managed")
    await superuser.execute("create role stranger login password 'pw'")
    await superuser.close()
    admin_dsn = for_role(for_database(fresh_server, "product"), "managed", "pw")
    for _ in range(2):
        await provision(admin_dsn, PASSWORDS)
        await migrate(for_role(admin_dsn, OWNER, PASSWORDS[OWNER]))
    for role in LOGIN_ROLES:
        assert await can_connect(admin_dsn, role, PASSWORDS), role
    assert not await can_connect(admin_dsn, "stranger", {"stranger": "pw"})

    api = await asyncpg.connect(for_role(admin_dsn, API, PASSWORDS[API]), server_settings={"search_path": "waypost"})
    await api.execute("select set_config('app.tenant_id', 'acme', false)")
    await api.execute("insert into tenants values ('acme', 'n', 'live', 'active', '{}', 'k', 1, now(), now())")
    assert await api.fetchval("select count(*) from tenants") == 1
    assert [row["id"] for row in await api.fetch("select * from tenant_directory(null, 10, null)")] == ["acme"]
    worker = await asyncpg.connect(for_role(admin_dsn, WORKER, PASSWORDS[WORKER]))
    assert len(await worker.fetch("select * from waypost.ensure_partitions(1)")) == 18
    assert await worker.fetch("select * from waypost.tenants") == []
    assert not await worker.fetchval("select rolbypassrls from pg_roles where rolname = $1", DBA)
    await api.close()
    await worker.close()


async def test_many_processes_at_once_in_two_databases_do_not_race(fresh_server: str):
    superuser = await asyncpg.connect(fresh_server)
    await superuser.execute("create database one")
    await superuser.execute("create database two")
    databases = [for_database(fresh_server, name) for name in ("one", "two")]
    await asyncio.gather(*(provision(dsn, PASSWORDS) for dsn in databases * 4))
    applied = await asyncio.gather(*(migrate(for_role(dsn, OWNER, PASSWORDS[OWNER])) for dsn in databases * 3))
    all_files = len(shipped_migrations()) + len(shipped_repeatables())
    assert sorted(len(names) for names in applied) == [0, 0, 0, 0, all_files, all_files]
    for dsn in databases:
        for role in LOGIN_ROLES:
            assert await can_connect(dsn, role, PASSWORDS)
    await superuser.close()


async def test_the_roles_of_another_installation_are_not_taken_over(fresh_server: str):
    await provision(fresh_server, PASSWORDS)
    with pytest.raises(Misconfigured, match="another Waypost installation"):
        await provision(fresh_server, OTHERS)
    assert await can_connect(fresh_server, API, PASSWORDS)
    await provision(fresh_server, OTHERS, replace_passwords=True)
    assert not await can_connect(fresh_server, API, PASSWORDS)
    assert await can_connect(fresh_server, API, OTHERS)


async def test_an_administrator_without_the_rights_is_told_which(fresh_server: str):
    superuser = await asyncpg.connect(fresh_server)
    await superuser.execute("create role weak login password 'pw'")
    await superuser.close()
    with pytest.raises(Misconfigured, match="CREATEROLE"):
        await provision(for_role(fresh_server, "weak", "pw"), PASSWORDS)


async def test_passwords_reach_the_server_only_as_verifiers(fresh_server: str, new_data_dir: Path):
    superuser = await asyncpg.connect(fresh_server)
    await superuser.execute("alter system set log_statement = 'all'")
    await superuser.execute("alter system set log_min_duration_statement = 0")
    await superuser.execute("select pg_reload_conf()")
    await provision(fresh_server, PASSWORDS)
    stored = await superuser.fetchval("select rolpassword from pg_authid where rolname = $1", API)
    assert stored.startswith("SCRAM-SHA-256$4096:")
    await superuser.close()
    log = (new_data_dir / "postgres.log").read_text()
    assert "provision" in log
    assert "secret-" not in log


def test_the_verifier_is_the_one_that_the_server_would_compute():
    # The example of RFC 7677, as PostgreSQL spells it.
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert scram_verifier("pencil", salt) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda dsn: for_role(dsn, API, "wrong"), "refused the user or the password"),
        (lambda dsn: for_database(dsn, "nowhere"), "no database of that name"),
        (lambda dsn: "postgresql://u:p@127.0.0.1:1/x", "unreachable"),
        (lambda dsn: "postgresql://u:p@no-such-host.invalid/x", "unreachable"),
        (lambda dsn: "postgresql://u:p@127.0.0.1:port/x", "cannot be read"),
    ],
)
async def test_a_database_that_cannot_be_reached_is_one_clear_line(
    database_server: str, change: Callable[[str], str], says: str
):
    with pytest.raises(Misconfigured, match=says) as refused:
        await open_connection(change(database_server), application_name="test")
    assert "\n" not in refused.value.detail
    assert "wrong" not in refused.value.detail


async def test_a_server_too_old_is_refused(database_server: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("waypost.adapters.postgres.connection.OLDEST_SERVER", 99)
    with pytest.raises(Misconfigured, match="PostgreSQL 99 or newer is needed; the server is 18"):
        await open_connection(database_server, application_name="test")


def test_urls_for_roles_and_databases_keep_everything_else():
    given = "postgresql://admin:a%40b@h1:1,h2:2/db?sslmode=require&user=x&password=y"
    assert for_role(given, "waypost_api", "p/w") == "postgresql://waypost_api:p%2Fw@h1:1,h2:2/db?sslmode=require"
    assert for_database(given, "other").startswith("postgresql://admin:a%40b@h1:1,h2:2/other?")
    socket = "postgresql://postgres:pw@/postgres?host=%2Ftmp%2Fa%20b"
    assert for_role(socket, "r", "p") == "postgresql://r:p@/postgres?host=%2Ftmp%2Fa%20b"
    with pytest.raises(Misconfigured):
        for_role("mysql://x", "r", "p")


async def test_nobody_else_may_connect_or_make_anything(database: Any, admin: asyncpg.Connection):
    name = f"stranger_{uuid4().hex}"
    await admin.execute(f"create role {name} login password 'pw'")
    try:
        assert not await can_connect(database.admin, name, {name: "pw"})
    finally:
        await admin.execute(f"drop role {name}")
    for right in ("create", "temporary"):
        for role in LOGIN_ROLES:
            assert not await admin.fetchval("select has_database_privilege($1, current_database(), $2)", role, right)
