# ruff: noqa: PT012 - what is tested here is how a block ends
"""The unit of work: all or nothing, one tenant and no trace of it afterwards, honest about what it cannot know."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.connection import Pool
from waypost.adapters.postgres.pool import PoolOptions, open_pool, server_settings
from waypost.adapters.postgres.work import PgTransaction, PgWork, connection_of
from waypost.kernel.errors import Misconfigured, Unavailable
from waypost.kernel.work import Transaction

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
    return PgWork(pool, acquire_timeout=1.0)


async def test_commits_when_the_block_ends_and_rolls_back_when_it_raises(work: PgWork, admin: asyncpg.Connection):
    async with work.begin("acme") as tx:
        await tx.connection.execute(INSERT, "acme")
    with pytest.raises(KeyError):
        async with work.begin("acme") as tx:
            await tx.connection.execute(INSERT, "acme")
            raise KeyError
    assert await admin.fetchval(COUNT) == 1


async def test_sees_and_writes_its_own_tenant_only(work: PgWork):
    async with work.begin("acme") as tx:
        assert tx.tenant_id == "acme"
        await connection_of(tx).execute(INSERT, "acme")
    async with work.begin("other") as tx:
        assert await tx.connection.fetchval(COUNT) == 0
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with tx.connection.transaction():
                await tx.connection.execute(INSERT, "acme")
    async with work.begin_unscoped() as tx:
        assert tx.tenant_id == ""
        assert await tx.connection.fetchval(COUNT) == 0


async def test_a_time_out_a_lock_and_a_full_pool_ask_to_try_again(work: PgWork, admin: asyncpg.Connection):
    with pytest.raises(Unavailable, match="busy") as refused:
        async with work.begin("acme") as tx:
            await tx.connection.fetchval("select pg_sleep(5)")
    assert refused.value.code == "unavailable"
    async with work.begin("acme") as tx:
        await tx.connection.execute(INSERT, "acme")
    transaction = admin.transaction()
    await transaction.start()
    await admin.execute("select from gate_changes for update")
    with pytest.raises(Unavailable, match="busy"):
        async with work.begin("acme") as tx:
            await tx.connection.execute("update gate_changes set changed_at = now()")
    await transaction.rollback()
    with pytest.raises(Unavailable, match="busy"):
        async with work.begin("acme"), work.begin("acme"):
            pass


async def test_a_lost_connection_is_told_apart_from_an_unknown_commit(work: PgWork, admin: asyncpg.Connection):
    async def kill(tx: PgTransaction) -> None:
        await admin.fetchval(
            "select pg_terminate_backend($1, 5000)", await tx.connection.fetchval("select pg_backend_pid()")
        )

    with pytest.raises(Unavailable) as refused:
        async with work.begin("acme") as tx:
            await kill(tx)
            await tx.connection.execute(INSERT, "acme")
    assert refused.value.code == "unavailable"
    called: list[str] = []
    with pytest.raises(Unavailable, match="same Idempotency-Key") as refused:
        async with work.begin("acme") as tx:
            tx.after_commit(lambda: called.append("committed"))
            await tx.connection.execute(INSERT, "acme")
            await kill(tx)
    assert refused.value.code == "retry_same_key"
    assert called == []
    async with work.begin("acme") as tx:
        assert await tx.connection.fetchval(COUNT) == 0, "the pool has opened a new connection"


async def test_mistakes_of_ours_are_not_hidden_as_unavailable(work: PgWork):
    with pytest.raises(asyncpg.DataError):
        async with work.begin("acme") as tx:
            await tx.connection.execute(INSERT, 42)
    with pytest.raises(asyncpg.UniqueViolationError):
        async with work.begin("acme") as tx:
            await tx.connection.execute("insert into gate_changes values ($1, $2), ($1, $2)", "acme", "0" * 32)


async def test_after_commit_runs_once_the_rows_are_there_and_not_after_a_rollback(
    work: PgWork, admin: asyncpg.Connection
):
    called: list[str] = []
    async with work.begin("acme") as tx:
        tx.after_commit(lambda: called.append("first"))
        tx.after_commit(lambda: called.append("second"))
        await tx.connection.execute(INSERT, "acme")
        assert called == []
    assert called == ["first", "second"]
    assert await admin.fetchval(COUNT) == 1
    with pytest.raises(KeyError):
        async with work.begin("acme") as tx:
            tx.after_commit(lambda: called.append("never"))
            raise KeyError
    assert called == ["first", "second"]


def test_a_transaction_of_another_kind_is_refused():
    with pytest.raises(TypeError):
        connection_of(Transaction("acme"))


async def test_every_connection_carries_its_time_outs(pool: Pool):
    async with pool.acquire() as connection:
        shown = {
            name: await connection.fetchval(f"show {name}")
            for name in (
                "application_name", "search_path", "statement_timeout", "lock_timeout", "jit",
                "idle_in_transaction_session_timeout", "transaction_timeout", "enable_seqscan", "enable_hashjoin",
            )
        }  # fmt: skip
    assert shown == {
        "application_name": "waypost test",
        "search_path": "waypost",
        "statement_timeout": "1s",
        "lock_timeout": "500ms",
        "jit": "off",
        "idle_in_transaction_session_timeout": "30s",
        "transaction_timeout": "1min",
        "enable_seqscan": "off",
        "enable_hashjoin": "on",
    }


def test_an_older_server_is_not_asked_for_what_it_does_not_know():
    options = PoolOptions(application_name="x", index_plans=True)
    assert "transaction_timeout" not in server_settings(options, 16)
    assert server_settings(options, 17)["transaction_timeout"] == "60000"
    assert server_settings(options, 17)["enable_hashjoin"] == "off"


async def test_an_unreachable_database_is_one_line_at_start():
    with pytest.raises(Misconfigured, match="unreachable") as refused:
        await open_pool("postgresql://u:p@127.0.0.1:1/x", PoolOptions(application_name="x"))
    assert refused.value.exit_code == 78


async def test_a_database_that_is_away_later_asks_to_try_again(database: Any, database_server: str):
    opened = await open_pool(database.api, PoolOptions(application_name="x", min_size=0))
    server = await asyncpg.connect(database_server)
    await server.execute(f"alter database {database.name} with allow_connections false")
    with pytest.raises(Unavailable, match="unreachable"):
        async with PgWork(opened).begin("acme"):
            pass
    opened.terminate()
    await server.close()
