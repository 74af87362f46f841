"""Monthly partitions: made ahead at start and daily; a row outside them is an alarm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from waypost.adapters.postgres.connection import Connection
from waypost.adapters.postgres.queries import load

MONTHS_AHEAD: Final = 3
_SQL: Final = load("partitions")


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionsMade:
    made: tuple[str, ...]
    problems: Mapping[str, str]
    """Those that could not be made, and why; the next run tries again."""


async def ensure_partitions(connection: Connection, months_ahead: int = MONTHS_AHEAD) -> PartitionsMade:
    """As waypost_worker or waypost_owner, outside of any other transaction."""
    rows = await connection.fetch(_SQL["ensure"], months_ahead)
    return PartitionsMade(
        made=tuple(row["name"] for row in rows if row["problem"] is None),
        problems={row["name"]: row["problem"] for row in rows if row["problem"] is not None},
    )


async def stray_rows(connection: Connection) -> Mapping[str, int]:
    """DEFAULT partitions that are not empty, with how many rows they hold (counted to 1,000)."""
    return {row["name"]: row["rows"] for row in await connection.fetch(_SQL["strays"])}
