"""5. A connection goes back to the pool without its tenant, however the work on it ended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.connection import Pool
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.work import PgTransaction, PgWork

INSERT = "insert into gate_changes (tenant_id, recipient_id) values ($1, gen_random_uuid())"
COUNT = "select count(*) from gate_changes"


@pytest.fixture
async def pool(database: Any) -> AsyncIterator[Pool]:
    """One connection, so that the next user gets the one that was left behind."""
    options = PoolOptions(
        application_name="waypost test", min_size=1, max_size=1, statement_timeout=1.0, lock_timeout=0.5
    )
    opened = await open_pool(database.api, options)
    yield opened
    opened.terminate()


@pytest.fixture
def work(pool: Pool) -> PgWork:
    return PgWork(pool, acquire_timeout=5)


async def assert_clean(pool: Pool) -> None:
    async with pool.acquire() as connection:
        assert await connection.fetchval("select current_setting('app.tenant_id', true)") in ("", None)
        assert await connection.fetchval(COUNT) == 0
        locks = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
        assert await connection.fetchval(locks) == 0


async def fail_by_cancel(tx: PgTransaction) -> None:
    task = asyncio.create_task(tx.connection.fetchval("select pg_sleep(5)"))
    await asyncio.sleep(0)
    task.cancel()
    await task


async def fail_by_timeout(tx: PgTransaction) -> None:
    await tx.connection.fetchval("select pg_sleep(5)")


async def fail_by_error(tx: PgTransaction) -> None:
    await tx.connection.fetchval("select 1/0")


async def fail_in_savepoint(tx: PgTransaction) -> None:
    async with tx.connection.transaction():
        await tx.connection.execute("select set_config('app.tenant_id', 'other', true)")
        await tx.connection.fetchval("select 1/0")


async def fail_after_savepoint(tx: PgTransaction) -> None:
    async with tx.connection.transaction():
        await tx.connection.execute("select set_config('app.tenant_id', 'other', true)")
    raise RuntimeError


async def fail_with_a_session_setting(tx: PgTransaction) -> None:
    await tx.connection.execute("select set_config('app.tenant_id', 'acme', false)")
    await tx.connection.execute("set session statement_timeout = 0")
    await tx.connection.execute("select pg_advisory_lock(7)")


@pytest.mark.parametrize(
    "fail",
    [
        fail_by_cancel,
        fail_by_timeout,
        fail_by_error,
        fail_in_savepoint,
        fail_after_savepoint,
        fail_with_a_session_setting,
    ],
)
async def test_a_connection_comes_back_without_its_tenant(
    work: PgWork, pool: Pool, fail: Callable[[PgTransaction], Awaitable[None]]
):
    async with work.begin("acme") as tx:
        await tx.connection.execute(INSERT, "acme")
    try:
        async with work.begin("acme") as tx:
            await fail(tx)
    except (Exception, asyncio.CancelledError):  # noqa: S110 - how it fails is not the question here
        pass
    await assert_clean(pool)
    async with pool.acquire() as connection:
        assert await connection.fetchval("show statement_timeout") == "1s"


async def test_a_cancelled_task_frees_its_connection(work: PgWork, pool: Pool):
    written = asyncio.Event()

    async def dawdle() -> None:
        async with work.begin("acme") as tx:
            await tx.connection.execute(INSERT, "acme")
            written.set()
            await tx.connection.fetchval("select pg_sleep(5)")

    task = asyncio.create_task(dawdle())
    await written.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await assert_clean(pool)


async def test_a_connection_killed_inside_a_savepoint_is_replaced_by_a_clean_one(
    work: PgWork, pool: Pool, admin: asyncpg.Connection
) -> None:
    try:
        async with work.begin("acme") as tx:
            await tx.connection.execute(INSERT, "acme")
            async with tx.connection.transaction():
                await tx.connection.execute("select set_config('app.tenant_id', 'other', true)")
                pid = await tx.connection.fetchval("select pg_backend_pid()")
                await admin.fetchval("select pg_terminate_backend($1, 5000)", pid)
                await tx.connection.execute(INSERT, "other")
    except Exception:  # noqa: S110 - how it fails is not the question here
        pass
    await assert_clean(pool)
    assert await admin.fetchval(COUNT) == 0


async def test_fifty_tenants_over_one_connection_never_see_each_other(work: PgWork, pool: Pool) -> None:
    for number in range(50):
        async with work.begin(f"tenant-{number}") as tx:
            assert await tx.connection.fetchval(COUNT) == 0
            await tx.connection.execute(INSERT, f"tenant-{number}")
    await assert_clean(pool)


async def test_a_prepared_statement_follows_the_tenant(work: PgWork) -> None:
    """Plans are kept with the connection; what they filter by is not."""
    for tenant, already in (("acme", 0), ("other", 0), ("acme", 1), ("other", 1)):
        async with work.begin(tenant) as tx:
            counting = await tx.connection.prepare(COUNT)
            assert await counting.fetchval() == already
            await tx.connection.execute(INSERT, tenant)
            assert await counting.fetchval() == already + 1
