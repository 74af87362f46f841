"""Transactions of one busy tenant: the next begins with the end of the one before, and nobody else notices."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.connection import Pool
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.work import PgWork
from waypost.kernel.errors import Unavailable

INSERT = "insert into gate_changes (tenant_id, recipient_id) values ($1, gen_random_uuid())"
COUNT = "select count(*) from gate_changes"
STATE = "select state from pg_stat_activity where pid = $1"
TENANT = "select coalesce(current_setting('app.tenant_id', true), '')"


@pytest.fixture
async def pool(database: Any) -> AsyncIterator[Pool]:
    opened = await open_pool(database.api, PoolOptions(application_name="waypost test", min_size=1, max_size=2))
    yield opened
    opened.terminate()


@pytest.fixture
def work(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> PgWork:
    # Nobody lets go by himself, however slow the machine is.
    monkeypatch.setattr("waypost.adapters.postgres.held._SECONDS", 3_600.0)
    return PgWork(pool, acquire_timeout=30.0)


async def _one(work: PgWork, tenant: str = "acme", *, goes_on: bool) -> int:
    """Writes a row; the backend that did it."""
    async with work.begin(tenant, waits=False, goes_on=lambda: goes_on) as tx:
        await tx.connection.execute(INSERT, tenant)
        return await tx.connection.fetchval("select pg_backend_pid()")


async def test_the_next_goes_on_where_the_last_has_ended(work: PgWork, admin: asyncpg.Connection) -> None:
    first = await _one(work, goes_on=True)
    assert await admin.fetchval(COUNT) == 1, "what is over is there for all to see"
    assert await admin.fetchval(STATE, first) == "idle in transaction"
    assert await _one(work, goes_on=True) == first
    assert await _one(work, goes_on=False) == first
    assert await admin.fetchval(COUNT) == 3
    assert await admin.fetchval(STATE, first) == "idle"


async def test_it_sees_its_tenant_and_can_be_undone(work: PgWork, admin: asyncpg.Connection) -> None:
    await _one(work, goes_on=True)
    with pytest.raises(KeyError):  # noqa: PT012 - what is tested here is how a block ends
        async with work.begin("acme", waits=False, goes_on=lambda: True) as tx:
            assert await tx.connection.fetchval(TENANT) == "acme"
            async with tx.connection.transaction():
                await tx.connection.execute(INSERT, "acme")
            raise KeyError
    assert await admin.fetchval(COUNT) == 1
    await _one(work, goes_on=False)
    assert await admin.fetchval(COUNT) == 2


async def test_nobody_else_gets_it(work: PgWork) -> None:
    held = await _one(work, goes_on=True)
    assert await _one(work, "other", goes_on=False) != held
    async with work.begin("acme") as tx:
        assert await tx.connection.fetchval("select pg_backend_pid()") != held, "whoever waits has patience of his own"
    assert await _one(work, goes_on=False) == held


async def test_it_goes_home_where_nobody_comes(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, admin: asyncpg.Connection
) -> None:
    monkeypatch.setattr("waypost.adapters.postgres.held._SECONDS", 0.001)
    held = await _one(PgWork(pool), goes_on=True)
    async with asyncio.timeout(60):
        while pool.get_idle_size() < pool.get_size():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await admin.fetchval(STATE, held) == "idle"
    async with pool.acquire() as connection:
        assert await connection.fetchval("select pg_backend_pid()") == held
        assert await connection.fetchval(TENANT) == ""
        assert await connection.fetchval("show lock_timeout") == "10s"


async def test_of_two_that_end_at_the_same_moment_one_goes_home(
    pool: Pool, work: PgWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both ask before either is held.
    monkeypatch.setattr(work._held, "has_room_for", lambda _tenant: True)
    async with work.begin("acme", waits=False, goes_on=lambda: True) as tx:
        kept = await _one(work, goes_on=True)
        assert await tx.connection.fetchval("select pg_backend_pid()") != kept
    async with asyncio.timeout(60):
        while pool.get_idle_size() < 1:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await _one(work, goes_on=False) == kept


async def test_none_is_held_while_the_pool_has_no_other(work: PgWork) -> None:
    async with work.begin("other"):
        held = await _one(work, goes_on=True)
        async with work.begin("third") as tx:
            assert await tx.connection.fetchval("select pg_backend_pid()") == held
    assert await _one(work, goes_on=False)


async def test_one_that_dies_meanwhile_is_not_used(work: PgWork, admin: asyncpg.Connection) -> None:
    held = await _one(work, goes_on=True)
    await admin.fetchval("select pg_terminate_backend($1, 5000)", held)
    # Whoever comes before the news of it is told so, and comes again.
    again: int | None = None
    async with asyncio.timeout(60):
        while again is None:
            with suppress(Unavailable):
                again = await _one(work, goes_on=False)
    assert again != held
    assert await admin.fetchval(COUNT) == 2
