"""Plans do not depend on statistics: what a statement reads grows with its batch, never with the table.

Counted as the roles that run it, whether its plan was made on empty tables, on full ones nobody has analysed, or on
full ones whose statistics say that they are empty.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.queries import load
from waypost.kernel.vocabulary import Category, Priority

ROWS = 6_000
BATCH = 50
WORKER_ID = uuid4()
_CLAIM = "select * from waypost.claim($1, $2, $3)"
_SETTLE = load("dispatch")["settle"]
_READ = """
select c.relname, c.relkind = 'i' as is_index, pg_stat_get_xact_tuples_returned(c.oid) as tuples
from pg_class c where c.relnamespace = 'waypost'::regnamespace and c.relkind in ('r', 'i')
  and pg_stat_get_xact_tuples_returned(c.oid) > 0
"""


async def counters(connection: asyncpg.Connection) -> dict[str, int]:
    """Rows read so far, by table (sequentially) and index; they are flushed between transactions, never inside one."""
    return {row["relname"]: row["tuples"] for row in await connection.fetch(_READ)}


async def rows_read(connection: asyncpg.Connection, before: dict[str, int]) -> dict[str, int]:
    tables = {row["relname"] for row in await connection.fetch(_READ) if not row["is_index"]}
    after = await counters(connection)
    reads = {name: tuples - before.get(name, 0) for name, tuples in after.items() if tuples > before.get(name, 0)}
    assert reads.keys() & tables == set(), f"sequential scans: {reads}"
    return reads


async def fill(office: Any) -> None:
    await office.make_tenant("quiet")
    await office.submit(ROWS // 2, priority=Priority.NORMAL)
    await office.submit(ROWS // 2, category=Category.MARKETING)
    await office.submit(200, priority=Priority.LOW)
    await office.submit(200, tenant="quiet")


async def claim_and_settle(connection: asyncpg.Connection) -> tuple[dict[str, int], dict[str, int]]:
    batch_id = uuid4()
    async with connection.transaction():
        before = await counters(connection)
        claimed = sorted(await connection.fetch(_CLAIM, WORKER_ID, batch_id, BATCH), key=lambda row: row["id"])
        claim_reads = await rows_read(connection, before)
    if not claimed:
        return claim_reads, {}
    assert len({row["tenant_id"] for row in claimed}) == 1
    count = len(claimed)
    async with connection.transaction():
        before = await counters(connection)
        lost = await connection.fetch(
            _SETTLE,
            WORKER_ID,
            batch_id,
            True,
            [claimed[0]["tenant_id"]],
            [count],
            [row["id"] for row in claimed],
            1,
            2,
            [row["n"] for row in claimed],
            [1] * count,
            [5] * count,
            [250] * count,
            [None] * count,
            [None] * count,
            [None] * count,
            [1] * count,
            None,
            None,
        )
        settle_reads = await rows_read(connection, before)
    assert lost == []
    return claim_reads, settle_reads


def check(reads: dict[str, int], most: int) -> None:
    assert {name: tuples for name, tuples in reads.items() if tuples > most} == {}


@pytest.fixture
async def worker(office: Any, connect: Callable[..., Awaitable[asyncpg.Connection]]) -> asyncpg.Connection:
    await office.admin.execute(
        "insert into workers (id, host, pid, code, lease_until) values ($1, 'h', 1, 1, now() + interval '1 hour')",
        WORKER_ID,
    )
    return await connect("worker")


async def test_plans_made_on_empty_tables_stay_good(office: Any, worker: asyncpg.Connection) -> None:
    await office.submit(3)
    for _ in range(8):
        await claim_and_settle(worker)
        await office.submit(1)
    await fill(office)
    for _ in range(3):
        claim_reads, settle_reads = await claim_and_settle(worker)
        check(claim_reads, 4 * BATCH)
        check(settle_reads, 4 * BATCH)


@pytest.mark.parametrize("analysed", ["never", "when empty", "when full"])
async def test_plans_made_on_full_tables_are_good(office: Any, worker: asyncpg.Connection, analysed: str) -> None:
    if analysed == "when empty":
        await office.admin.execute("vacuum analyze")
    await fill(office)
    if analysed == "when full":
        await office.admin.execute("vacuum analyze")
    for _ in range(3):
        claim_reads, settle_reads = await claim_and_settle(worker)
        check(claim_reads, 4 * BATCH)
        check(settle_reads, 4 * BATCH)


async def test_a_claim_takes_no_more_than_was_asked_for_whatever_the_plan(
    office: Any, worker: asyncpg.Connection
) -> None:
    """Statistics that know other tenants only make it look cheap to ask for the due rows again for each row of this
    one: and each time, the next ones are found."""
    for number in range(3):
        await office.make_tenant(f"other-{number}")
        await office.submit(60, tenant=f"other-{number}")
    await office.admin.execute("analyze queue")
    await office.admin.execute("delete from queue; delete from lanes")
    await office.submit(60)
    for left in (40, 20, 0):
        claimed = await worker.fetch(_CLAIM, WORKER_ID, uuid4(), 20)
        assert (len(claimed), await office.admin.fetchval("select count(*) from queue")) == (20, left)


async def test_dead_rows_are_not_walked_while_an_old_snapshot_is_open(
    office: Any, worker: asyncpg.Connection, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> None:
    """The low-water mark skips what cannot be vacuumed, also where a broadcast has given all rows the same due time."""
    reader = await connect("admin")
    await office.submit(2_000)
    async with reader.transaction(isolation="repeatable_read"):
        await reader.fetchval("select count(*) from queue")
        for _ in range(30):
            claim_reads, _ = await claim_and_settle(worker)
        check(claim_reads, 4 * BATCH)


async def test_looking_things_up_reads_what_is_asked_for(
    office: Any, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> None:
    await fill(office)
    await office.admin.execute("vacuum analyze")
    delivery = load("delivery")
    ids = [
        row["id"] for row in await office.admin.fetch("select id from notifications where tenant_id = 'acme' limit 20")
    ]
    people = await office.admin.fetch("select id from recipients where tenant_id = 'acme' limit 20")
    asked = [row["id"] for row in people]
    api = await connect("api")
    async with api.transaction():
        await api.execute("select set_config('app.tenant_id', 'acme', true)")
        await api.fetch(delivery["states"], "acme", ids)
        await api.fetch(delivery["notes"], "acme", ids[0])
        await api.fetch(delivery["attempts"], "acme", ids[0])
        await api.fetch(delivery["take_back"], "acme", ids)
        none, all_ = [None] * len(asked), [True] * len(asked)
        await api.fetch(delivery["gate_facts"], "acme", 1, asked, asked, none, all_, "email")
        reads = await counters(api)
    big = ("notifications", "queue", "recipients", "addresses")
    check({name: tuples for name, tuples in reads.items() if name.startswith(big)}, 200)
