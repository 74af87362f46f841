"""Months have their partitions before they begin; a row outside them is seen and does not stop the others."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.partitions import MONTHS_AHEAD, ensure_partitions, stray_rows
from waypost.adapters.postgres.work import PgWork, connection_of
from waypost.kernel.errors import Unavailable
from waypost.kernel.ids import first_id_at, id_at

_SOMEBODY_WAITS = """
    select exists (select from pg_locks join pg_database d on d.oid = database
                   where not granted and d.datname = current_database())
"""
Connect = Callable[..., Awaitable[asyncpg.Connection]]
NOW = datetime.now(UTC)
PARENTS = [
    "requests",
    "notifications_standard",
    "notifications_marketing",
    "attempts_standard",
    "attempts_marketing",
    "timeline_standard",
    "timeline_marketing",
    "tracking_events_standard",
    "tracking_events_marketing",
]


def months(ahead: int) -> list[datetime]:
    """The first moments of this month and so many after it."""
    count = NOW.year * 12 + NOW.month - 1
    return [datetime((count + n) // 12, (count + n) % 12 + 1, 1, tzinfo=UTC) for n in range(ahead + 1)]


async def add_request(connection: asyncpg.Connection, identity: UUID) -> str:
    """Returns the partition it went into."""
    await connection.execute("insert into requests values ('acme', $1, $1, '{}')", identity)
    return await connection.fetchval("select tableoid::regclass::text from requests where id = $1", identity)


async def test_the_worker_makes_this_month_and_three_more(admin: asyncpg.Connection, connect: Connect):
    worker = await connect("worker")
    done = await ensure_partitions(worker)
    expected = {f"{parent}_{month:%Y_%m}" for parent in PARENTS for month in months(MONTHS_AHEAD)}
    assert set(done.made) == expected
    assert len(done.made) == len(expected)
    assert done.problems == {}
    owners = await admin.fetch(
        "select distinct relowner::regrole::text as name from pg_class where relname = any($1)", done.made
    )
    assert [row["name"] for row in owners] == ["waypost_owner"]
    again = await ensure_partitions(worker)
    assert again.made == ()
    assert again.problems == {}


async def test_the_first_and_the_last_moment_of_a_month_lie_in_its_partition(admin: asyncpg.Connection):
    await ensure_partitions(admin, 2)
    this, following, _ = months(2)
    assert await add_request(admin, first_id_at(this)) == f"requests_{this:%Y_%m}"
    last = UUID(int=first_id_at(following).int - 1)
    assert await add_request(admin, last) == f"requests_{this:%Y_%m}"
    assert await add_request(admin, first_id_at(following)) == f"requests_{following:%Y_%m}"
    assert await add_request(admin, UUID(int=first_id_at(this).int - 1)) == "requests_default"


async def test_an_id_alone_finds_its_partition(admin: asyncpg.Connection):
    await ensure_partitions(admin)
    identity = id_at(NOW, uuid4().bytes[:10])
    plan = await admin.fetch(f"explain select * from notifications where tenant_id = 'acme' and id = '{identity}'")
    text = "\n".join(row[0] for row in plan)
    assert f"notifications_standard_{NOW:%Y_%m}" in text
    assert f"notifications_marketing_{NOW:%Y_%m}" in text
    assert f"{months(1)[1]:%Y_%m}" not in text
    assert "default" not in text


async def test_a_partition_made_later_has_the_indexes_settings_and_keys_of_its_parent(admin: asyncpg.Connection):
    await ensure_partitions(admin, 0)
    month = f"{NOW:%Y_%m}"
    for parent in PARENTS:
        shapes = [
            await admin.fetchval(
                "select array_agg(a.attname || format_type(a.atttypid, a.atttypmod) || a.attnotnull order by a.attnum)"
                " from pg_attribute a where a.attrelid = $1::text::regclass and a.attnum > 0",
                name,
            )
            for name in (parent, f"{parent}_{month}")
        ]
        assert shapes[0] == shapes[1]
        unattached = await admin.fetchval(
            "select count(*) from pg_index i where i.indrelid = $1::text::regclass"
            " and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)",
            f"{parent}_{month}",
        )
        missing = await admin.fetchval("select count(*) from pg_index where not indisvalid")
        assert (unattached, missing) == (0, 0)
        # On an empty table the planner takes the newest of indexes that look alike, so it must be the primary key.
        newest = await admin.fetchval(
            "select indisprimary from pg_index where indrelid = $1::text::regclass order by indexrelid desc limit 1",
            f"{parent}_{month}",
        )
        parents_newest = await admin.fetchval(
            "select indisprimary from pg_index where indrelid = $1::text::regclass order by indexrelid desc limit 1",
            parent,
        )
        assert newest == parents_newest
        options = await admin.fetchval("select reloptions from pg_class where relname = $1", f"{parent}_{month}")
        assert (options == ["fillfactor=50"]) == parent.startswith("attempts")


async def test_a_stray_row_is_counted_and_stops_only_its_own_month(admin: asyncpg.Connection, connect: Connect):
    this, following, _ = months(2)
    assert await add_request(admin, first_id_at(following)) == "requests_default"
    for role in ("api", "worker", "dba"):
        assert await stray_rows(await connect(role)) == {"requests_default": 1}
    worker = await connect("worker")
    done = await ensure_partitions(worker, 2)
    assert done.problems == {f"requests_{following:%Y_%m}": "rows in the default partition belong here"}
    assert len(done.made) == 3 * len(PARENTS) - 1
    await admin.execute("delete from requests")
    assert (await ensure_partitions(worker, 2)).made == (f"requests_{following:%Y_%m}",)
    assert await stray_rows(worker) == {}
    assert this < following


async def test_makers_that_run_at_once_make_each_partition_once(connect: Connect):
    workers = [await connect("worker") for _ in range(4)]
    done = await asyncio.gather(*(ensure_partitions(worker, 1) for worker in workers))
    assert sorted(len(each.made) for each in done) == [0, 0, 0, 2 * len(PARENTS)]
    assert all(not each.problems for each in done)


async def test_a_reader_of_the_default_partition_delays_only_so_long_and_is_reported(
    admin: asyncpg.Connection, connect: Connect
):
    reader, worker = await connect("dba"), await connect("worker")
    transaction = reader.transaction()
    await transaction.start()
    await reader.fetch("select * from requests_default")
    await admin.execute("alter function ensure_partitions(integer) set lock_timeout = '50ms'")
    done = await ensure_partitions(worker, 0)
    assert done.problems == {f"requests_{NOW:%Y_%m}": "the default partition is in use"}
    assert len(done.made) == len(PARENTS) - 1
    await transaction.rollback()
    assert (await ensure_partitions(worker, 0)).made == (f"requests_{NOW:%Y_%m}",)


async def test_the_api_may_not_make_partitions(connect: Connect):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await ensure_partitions(await connect("api"))


async def test_a_row_whose_partition_is_made_while_it_comes_may_come_again(
    admin: asyncpg.Connection, connect: Connect, api_work: PgWork
):
    """Only where nobody made partitions ahead: the row was bound for DEFAULT, which it may not enter any more."""
    identity = id_at(NOW, uuid4().bytes[:10])

    async def come() -> None:
        async with api_work.begin("acme") as tx:
            await connection_of(tx).execute("insert into requests values ('acme', $1, $1, '{}')", identity)

    maker = await connect("worker")
    making = maker.transaction()
    await making.start()
    await ensure_partitions(maker, 0)
    coming = asyncio.create_task(come())
    async with asyncio.timeout(60):
        while not await admin.fetchval(_SOMEBODY_WAITS):  # noqa: ASYNC110 - the condition is elsewhere
            await asyncio.sleep(0.01)
    await making.commit()
    with pytest.raises(Unavailable):
        await coming
    await come()
    assert await admin.fetchval("select tableoid::regclass::text from requests") == f"requests_{NOW:%Y_%m}"
