"""The rows that accepting leaves behind, put into bare copies of their tables: the reference for whoever makes them."""

import io
import time
from dataclasses import dataclass

import asyncpg

_COLUMNS = (
    "select string_agg(quote_ident(column_name), ', ' order by ordinal_position) from information_schema.columns"
    " where table_schema = 'waypost' and table_name = $1"
)


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

    async def copy(self, newer_than: object) -> float:
        """Seconds that COPY takes for the rows accepted since, in one transaction."""
        written: dict[str, bytes] = {}
        for table in self.tables:
            kept = io.BytesIO()
            await self.admin.copy_from_query(await self._newest(table), newer_than, output=kept, format="binary")
            written[table] = kept.getvalue()
        begun = time.perf_counter()
        async with self.admin.transaction():
            for table, rows in written.items():
                await self.admin.copy_to_table(
                    f"bare_{table}", schema_name="public", source=io.BytesIO(rows), format="binary"
                )
        return time.perf_counter() - begun

    async def insert(self, newer_than: object) -> float:
        """Seconds that INSERT … SELECT takes for them."""
        statements = [f"insert into public.bare_{table} {await self._newest(table)}" for table in self.tables]
        begun = time.perf_counter()
        async with self.admin.transaction():
            for statement in statements:
                await self.admin.execute(statement, newer_than)
        return time.perf_counter() - begun

    async def _newest(self, table: str) -> str:
        columns = await self.admin.fetchval(_COLUMNS, table)
        by = "id" if table in ("notifications", "queue") else "notification_id"
        return f"select {columns} from waypost.{table} where {by} > $1"  # noqa: S608 - names of ours
