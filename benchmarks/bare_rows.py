"""The rows that accepting leaves behind, put into bare copies of their tables: the reference for whoever makes them."""

import io
import time
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from waypost.kernel.ids import first_id_at

_COLUMNS = (
    "select string_agg(quote_ident(column_name), ', ' order by ordinal_position) from information_schema.columns"
    " where table_schema = 'waypost' and table_name = $1"
)

# What tells how old a row is: its id, or a moment.
_AGE = {
    "notifications": "id",
    "queue": "id",
    "requests": "id",
    "notification_dedupe": "notification_id",
    "idempotency_keys": "created_at",
}


@dataclass(frozen=True)
class BareRows:
    """Copies of the tables, with their indexes, without policies, partitions and triggers."""

    admin: "asyncpg.Connection[asyncpg.Record]"
    tables: tuple[str, ...]

    async def make(self) -> None:
        for table in self.tables:
            await self.admin.execute(f"create table public.bare_{table} (like waypost.{table} including indexes)")

    async def empty(self) -> None:
        for table in self.tables:
            await self.admin.execute(f"truncate public.bare_{table}")

    async def copy(self, since: datetime) -> float:
        """Seconds that COPY takes for the rows accepted since, in one transaction."""
        written: dict[str, bytes] = {}
        for table in self.tables:
            kept = io.BytesIO()
            query, bound = await self._newest(table, since)
            await self.admin.copy_from_query(query, bound, output=kept, format="binary")
            written[table] = kept.getvalue()
        begun = time.perf_counter()
        async with self.admin.transaction():
            for table, rows in written.items():
                await self.admin.copy_to_table(
                    f"bare_{table}", schema_name="public", source=io.BytesIO(rows), format="binary"
                )
        return time.perf_counter() - begun

    async def insert(self, since: datetime) -> float:
        """Seconds that INSERT … SELECT takes for them."""
        newest = {table: await self._newest(table, since) for table in self.tables}
        begun = time.perf_counter()
        async with self.admin.transaction():
            for table, (query, bound) in newest.items():
                await self.admin.execute(f"insert into public.bare_{table} {query}", bound)
        return time.perf_counter() - begun

    async def _newest(self, table: str, since: datetime) -> tuple[str, object]:
        columns = await self.admin.fetchval(_COLUMNS, table)
        by = _AGE[table]
        query = f"select {columns} from waypost.{table} where {by} >= $1"  # noqa: S608 - names of ours
        return query, since if by == "created_at" else first_id_at(since)
