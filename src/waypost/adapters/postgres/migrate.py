"""Applies the schema: numbered files once and in order, repeatable files whenever their text has changed.

Runs as waypost_owner on a connection of its own. A schema may be newer than the code (a rolling deployment), as long
as the schema still allows that code; a code older than the schema allows refuses to start.
"""

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import asyncpg

from waypost.adapters.postgres.connection import Connection, Record, connect
from waypost.adapters.postgres.queries import load
from waypost.kernel.errors import Misconfigured, Unavailable

_SQL: Final = load("migrate")
_FILE_NAME: Final = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_OLDEST_CODE: Final = re.compile(r"^-- oldest_code: (\d+)$", re.MULTILINE)
_REVISION: Final = re.compile(r"^-- revision: (\d+)$", re.MULTILINE)
_REPEATABLE: Final = (
    "routines.sql",
    "fan_out_routines.sql",
    "inbox_routines.sql",
    "pause_routines.sql",
    "resolvers.sql",
)
_SETTINGS: Final = {
    "search_path": "waypost",
    "statement_timeout": "0",
    "lock_timeout": "5min",
    "client_min_messages": "warning",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    number: int
    name: str
    text: str
    oldest_code: int

    @property
    def checksum(self) -> str:
        return _checksum(self.text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeatable:
    name: str
    text: str
    revision: int

    @property
    def checksum(self) -> str:
        return _checksum(self.text)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def shipped_migrations() -> list[Migration]:
    found: list[Migration] = []
    for file in files("waypost.adapters.postgres").joinpath("migrations").iterdir():
        if matched := _FILE_NAME.fullmatch(file.name):
            text = file.read_text(encoding="utf-8")
            oldest = _OLDEST_CODE.search(text)
            if oldest is None:
                raise ValueError(f"{file.name} does not state `-- oldest_code: N`.")
            found.append(Migration(number=int(matched[1]), name=file.name, text=text, oldest_code=int(oldest[1])))
    return sorted(found, key=lambda migration: migration.number)


def shipped_repeatables() -> list[Repeatable]:
    found: list[Repeatable] = []
    for name in _REPEATABLE:
        text = files("waypost.adapters.postgres").joinpath(name).read_text(encoding="utf-8")
        revision = _REVISION.search(text)
        if revision is None:
            raise ValueError(f"{name} does not state `-- revision: N`.")
        found.append(Repeatable(name=name, text=text, revision=int(revision[1])))
    return found


def code_version() -> int:
    """The newest migration that this code knows."""
    return shipped_migrations()[-1].number


async def migrate(owner_dsn: str) -> list[str]:
    """Brings the schema up to this code and returns the names of what was applied."""
    return await apply(owner_dsn, shipped_migrations(), shipped_repeatables())


async def apply(owner_dsn: str, migrations: list[Migration], repeatables: list[Repeatable]) -> list[str]:
    connection = await connect(owner_dsn, application_name="waypost migrate", settings=_SETTINGS)
    try:
        await connection.execute(_SQL["lock"])
        # A migration that waits for a table makes everyone behind it wait; better to give up and be run again.
        await connection.execute("set lock_timeout = '10s'")
        async with connection.transaction():
            await connection.execute(_SQL["make_ledger"])
            await connection.execute(_SQL["open_ledger"])
        await _refuse_old_code(connection, migrations[-1].number)
        ledger = {row["name"]: row for row in await connection.fetch(_SQL["applied"])}
        done = [migration.name for migration in migrations if await _apply_once(connection, migration, ledger)]
        done += [file.name for file in repeatables if await _apply_again(connection, file, ledger)]
        await _refuse_invalid_indexes(connection)
        return done
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(
            "The schema could not be changed while others use it or change it too. Nothing is half done; try again."
        ) from error
    finally:
        await connection.close()


async def check_schema(connection: Connection, code: int | None = None) -> None:
    """For a process that does not migrate: refuses a schema that it cannot work on."""
    code = code_version() if code is None else code
    if not await connection.fetchval(_SQL["has_state"]):
        raise Misconfigured("The database has no Waypost schema yet. Run `waypost migrate`.", code="schema_missing")
    await _refuse_old_code(connection, code)
    state = await connection.fetchrow(_SQL["state"])
    if state is None or state["version"] < code:
        raise Misconfigured("The database schema is older than this Waypost. Run `waypost migrate`.", code="schema_old")


async def _refuse_old_code(connection: Connection, code: int) -> None:
    if not await connection.fetchval(_SQL["has_state"]):
        return
    state = await connection.fetchrow(_SQL["state"])
    if state is not None and state["oldest_code"] > code:
        raise Misconfigured(
            f"This Waypost is too old for its database: it knows the schema up to {code}, and the database (schema "
            f"{state['version']}) allows {state['oldest_code']} and newer. Install a newer Waypost.",
            code="code_too_old",
        )


async def _apply_once(connection: Connection, migration: Migration, ledger: dict[str, Record]) -> bool:
    if (known := ledger.get(migration.name)) is not None:
        if known["checksum"] != migration.checksum:
            raise Misconfigured(
                f"The migration {migration.name} was changed after it had been applied. Applied migrations never "
                "change; restore the file and write a new one.",
                code="migration_changed",
            )
        return False
    async with connection.transaction():
        await connection.execute(migration.text)
        await connection.execute(_SQL["record_migration"], migration.name, migration.number, migration.checksum)
        await connection.execute(_SQL["record_state"], migration.number, migration.oldest_code)
    return True


async def _apply_again(connection: Connection, file: Repeatable, ledger: dict[str, Record]) -> bool:
    known = ledger.get(file.name)
    if known is not None and (known["checksum"] == file.checksum or known["revision"] > file.revision):
        return False
    async with connection.transaction():
        await connection.execute(file.text)
        await connection.execute(_SQL["record_repeatable"], file.name, file.revision, file.checksum)
    return True


async def _refuse_invalid_indexes(connection: Connection) -> None:
    if names := [row["name"] for row in await connection.fetch(_SQL["invalid_indexes"])]:
        raise Misconfigured(
            f"An interrupted migration left invalid indexes: {', '.join(names)}. Drop them and run `waypost migrate`.",
            code="invalid_index",
        )
