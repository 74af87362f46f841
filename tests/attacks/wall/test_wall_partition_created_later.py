"""2. A partition that the maker adds later is as closed as those that were there."""

from datetime import timedelta
from typing import Any

import asyncpg


async def test_a_partition_made_later_is_as_closed(role: asyncpg.Connection, wall: Any) -> None:
    before = await wall.partitions()
    made = await wall.admin.fetch("select * from ensure_partitions(5)")
    new = await wall.partitions() - before
    assert len(new) == len(made) == 4 * 9
    # Rows of both tenants in a partition that did not exist when the walk was first made.
    later = wall.NOW.replace(day=1) + timedelta(days=31 * 4)
    for tenant in (wall.OWN, wall.FOREIGN):
        rows = wall.rows_of(tenant, later)
        for table in ("requests", "notifications", "attempts", "timeline", "tracking_events"):
            await wall.insert(wall.admin, table, rows[table])
    month = f"notifications_standard_{later:%Y_%m}"
    assert month in new
    assert await wall.admin.fetchval(f"select count(*) from {month}") == 2

    assert await wall.breaches(role) == []
    for name in new:
        granted = await wall.admin.fetchval(
            "select array_agg(distinct grantee::text) from information_schema.role_table_grants"
            " where table_schema = 'waypost' and table_name = $1",
            name,
        )
        assert set(granted) == {"waypost_owner", "waypost_dba"}


async def test_the_worker_runs_the_maker_and_owns_nothing_of_it(wall: Any, connect: Any) -> None:
    worker = await connect("worker")
    await worker.fetch("select * from ensure_partitions(2)")
    owners = await wall.admin.fetch(
        "select distinct relowner::regrole::text as owner from pg_class where relispartition"
    )
    assert [row["owner"] for row in owners] == ["waypost_owner"]
