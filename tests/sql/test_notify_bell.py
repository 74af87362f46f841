# ruff: noqa: PT012
"""The bell wakes other processes, rarely enough to cost nothing, and its silence is never mistaken for quiet."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from tests.database_peer import dying_database

from waypost.adapters.postgres.inbox_bell import PgInboxEar, PgInboxRinger
from waypost.adapters.postgres.notify import CHANNEL, Bell, Listener
from waypost.adapters.postgres.work import PgWork
from waypost.inbox.bell import GatheringBell, Word
from waypost.kernel.clock import VirtualClock

Connect = Callable[..., Awaitable[asyncpg.Connection]]


class WatchedClock(VirtualClock):
    """Tells when somebody has gone to sleep on it."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asleep.set()
        await super().sleep(seconds)


@pytest.fixture
def clock() -> WatchedClock:
    return WatchedClock()


@pytest.fixture
async def bell(database: Any, clock: WatchedClock) -> AsyncIterator[Bell]:
    made = Bell(database.api, clock)
    yield made
    await made.close()


@pytest.fixture
async def listener(database: Any, clock: WatchedClock) -> AsyncIterator[Listener]:
    made = Listener(database.worker, clock)
    yield made
    await made.close()


@pytest.fixture
async def heard(connect: Connect) -> asyncio.Queue[str]:
    """Everything that is rung, payloads and all."""
    rung: asyncio.Queue[str] = asyncio.Queue()
    connection = await connect("worker")
    await connection.add_listener(CHANNEL, lambda *args: rung.put_nowait(args[3]))
    return rung


async def listening(listener: Listener, clock: WatchedClock, seconds: float = 60) -> asyncio.Task[bool]:
    """A wait that has begun, with its ear open."""
    clock.asleep.clear()
    task = asyncio.create_task(listener.wait(seconds))
    await asyncio.wait_for(clock.asleep.wait(), 5)
    return task


async def test_a_ring_wakes_a_waiting_listener(bell: Bell, listener: Listener, clock: WatchedClock):
    task = await listening(listener, clock)
    bell.ring()
    assert await asyncio.wait_for(task, 5) is True


async def test_without_a_ring_the_wait_ends_by_itself(listener: Listener, clock: WatchedClock):
    task = await listening(listener, clock, seconds=2)
    await clock.advance(1.9)
    assert not task.done()
    await clock.advance(0.2)
    assert await asyncio.wait_for(task, 5) is False


async def test_a_ring_between_two_waits_is_not_lost(
    bell: Bell, listener: Listener, admin: asyncpg.Connection, clock: WatchedClock
):
    task = await listening(listener, clock)
    bell.ring()
    assert await task is True
    await admin.execute(f"notify {CHANNEL}")
    await admin.execute(f"notify {CHANNEL}")
    assert await asyncio.wait_for(listener.wait(60), 5) is True


async def test_many_rings_within_50_ms_are_two_without_payload(
    bell: Bell, heard: asyncio.Queue[str], clock: WatchedClock
):
    bell.ring()
    assert await asyncio.wait_for(heard.get(), 5) == ""
    await asyncio.wait_for(clock.asleep.wait(), 5)
    clock.asleep.clear()
    for _ in range(100):
        bell.ring()
    await clock.advance(0.049)
    assert heard.empty()
    await clock.advance(0.002)
    assert await asyncio.wait_for(heard.get(), 5) == ""
    await asyncio.wait_for(clock.asleep.wait(), 5)
    await clock.advance(10)
    await bell.close()
    assert heard.empty()


async def test_a_ring_owed_at_closing_is_still_rung(bell: Bell, heard: asyncio.Queue[str]):
    bell.ring()
    await asyncio.wait_for(heard.get(), 5)
    bell.ring()
    await bell.close()
    assert await asyncio.wait_for(heard.get(), 5) == ""


async def test_it_rings_after_the_commit_and_not_after_a_rollback(
    bell: Bell, heard: asyncio.Queue[str], api_work: PgWork, clock: WatchedClock
):
    with pytest.raises(KeyError):
        async with api_work.begin("acme") as tx:
            tx.after_commit(bell.ring)
            raise KeyError
    async with api_work.begin("acme") as tx:
        tx.after_commit(bell.ring)
        await clock.advance(1)
        assert heard.empty()
    await asyncio.wait_for(heard.get(), 5)
    assert heard.empty()


async def test_a_dead_connection_is_noticed_reopened_and_everything_is_swept(
    listener: Listener, admin: asyncpg.Connection, bell: Bell, clock: WatchedClock
):
    assert listener.take_missed() is True, "before the first wait nothing was heard"
    task = await listening(listener, clock)
    assert listener.take_missed() is True
    assert listener.take_missed() is False
    await admin.fetch(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'waypost listener'"
        " and datname = current_database()"
    )
    assert await asyncio.wait_for(task, 5) is True, "whoever waits is woken"
    task = await listening(listener, clock)
    assert listener.take_missed() is True
    bell.ring()
    assert await asyncio.wait_for(task, 5) is True
    assert listener.take_missed() is False


async def test_a_bell_whose_connection_died_rings_again(
    bell: Bell, heard: asyncio.Queue[str], admin: asyncpg.Connection, clock: WatchedClock
):
    bell.ring()
    await asyncio.wait_for(heard.get(), 5)
    await asyncio.wait_for(clock.asleep.wait(), 5)
    await clock.advance(1)
    await admin.fetch(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'waypost bell'"
        " and datname = current_database()"
    )
    bell.ring()
    await asyncio.wait_for(heard.get(), 5)


async def test_a_database_that_is_away_breaks_neither(clock: WatchedClock):
    nowhere = "postgresql://u:p@127.0.0.1:1/x"
    bell, listener = Bell(nowhere, clock), Listener(nowhere, clock)
    bell.ring()
    await bell.close()
    task = asyncio.create_task(listener.wait(2))
    while not task.done():
        await clock.advance(3)
        await asyncio.sleep(0.001)
    assert task.result() is False
    assert listener.take_missed() is True
    await listener.close()


async def test_a_farewell_that_crosses_the_first_question_breaks_neither(clock: WatchedClock):
    async with dying_database() as dying:
        bell, listener = Bell(dying, clock), Listener(dying, clock)
        bell.ring()
        await bell.close()
        wait = asyncio.create_task(listener.wait(2))
        while not wait.done():
            await clock.advance(3)
            await asyncio.sleep(0.001)
        assert listener.take_missed() is True
        await listener.close()


async def test_a_farewell_that_crosses_the_first_question_leaves_the_inbox_ringing(clock: WatchedClock):
    async with dying_database() as dying:
        bell = GatheringBell(PgInboxRinger(dying), clock)
        bell.owe([Word("one", "acme")])
        await bell.close()
        gaps: list[object] = []
        ear = asyncio.create_task(PgInboxEar(dying, clock).listen(gaps.append))
        while len(gaps) < 2:
            await clock.advance(3)
            await asyncio.sleep(0.001)
            assert not ear.done()
        ear.cancel()
