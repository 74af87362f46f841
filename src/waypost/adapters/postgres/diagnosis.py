"""What `waypost doctor` asks the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from waypost.adapters.postgres.connection import Connection, connect
from waypost.adapters.postgres.migrate import check_schema
from waypost.adapters.postgres.queries import load
from waypost.kernel.errors import Misconfigured

_SQL: Final = load("diagnosis")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleRights:
    superuser: bool
    bypasses: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseHealth:
    version: str
    now: datetime
    roles: Mapping[str, RoleRights]
    unguarded: tuple[str, ...]
    """Tables with tenants' rows that row level security does not guard."""
    months_ahead: int
    strays: tuple[str, ...]
    """DEFAULT partitions that hold rows."""
    workers: int
    oldest_due: float
    schema_problem: str | None


async def examine(dsn: str) -> DatabaseHealth:
    """As waypost_dba. Raises `Misconfigured`, in one line, where the database cannot be reached."""
    connection = await connect(dsn, application_name="waypost doctor", settings={"search_path": "waypost"})
    try:
        schema_problem = await _schema_problem(connection)
        [server] = await connection.fetch(_SQL["server"])
        roles = await connection.fetch(_SQL["roles"])
        known = schema_problem is None
        ahead = await connection.fetch(_SQL["furthest_partitions"]) if known else []
        unguarded = await connection.fetch(_SQL["unguarded"]) if known else []
        strays = await connection.fetch(_SQL["strays"]) if known else []
        return DatabaseHealth(
            version=server["version"],
            now=server["now"],
            roles={row["name"]: RoleRights(superuser=row["superuser"], bypasses=row["bypasses"]) for row in roles},
            unguarded=tuple(row["name"] for row in unguarded),
            months_ahead=min((row["ahead"] for row in ahead), default=0),
            strays=tuple(row["name"] for row in strays),
            workers=await connection.fetchval(_SQL["workers"]) if known else 0,
            oldest_due=await connection.fetchval(_SQL["oldest_due"]) if known else 0.0,
            schema_problem=schema_problem,
        )
    finally:
        await connection.close()


async def _schema_problem(connection: Connection) -> str | None:
    try:
        await check_schema(connection)
    except Misconfigured as problem:
        return problem.detail
    return None
