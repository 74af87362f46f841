"""Stops, lapses, lost databases and dead workers, on a real database: what is on the wire ends once."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from tests.remembering_vendor import StuckVendor, Vendor, all_in, files_in

from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.channels.model import Outcome, OutgoingEmail
from waypost.channels.ports import Wire
from waypost.delivery.model import Claimed, State
from waypost.delivery.ports import Composed, Withheld
from waypost.delivery.upkeep import Upkeep
from waypost.delivery.worker import Worker
from waypost.kernel.errors import Unavailable
from waypost.kernel.vocabulary import Category


async def test_stopping_finishes_what_is_on_the_wire_and_returns_the_rest(office: Any) -> None:
    ids = await office.submit(40)
    worker, vendor = await office.worker(), StuckVendor(answers=3)
    dispatcher = worker.dispatcher(office, vendor, batch_size=20, depth=1)
    running = asyncio.create_task(dispatcher.run())
    await vendor.stuck.wait()
    await dispatcher.stop(0.05)
    await running
    states = list((await office.states(ids)).values())
    assert states.count(State.DISPATCHED) == 3
    assert states.count(State.QUEUED) == 37
    in_doubt = await office.admin.fetch("select notification_id, reason from attempts where outcome = 5")
    assert len(in_doubt) == 1
    assert in_doubt[0]["reason"] == "timeout"
    assert await office.count("claims") == await office.count("attempts", "outcome is null") == 0


async def test_batches_claimed_but_not_begun_are_returned_on_stop(office: Any) -> None:
    ids = await office.submit(20, category=Category.MARKETING)
    worker, vendor = await office.worker(), Vendor()
    gate = asyncio.Event()

    class SlowComposer:
        def __init__(self, inner: Any) -> None:
            self.inner = inner
            self.asked = asyncio.Event()

        async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed | Withheld]:
            self.asked.set()
            await gate.wait()
            return await self.inner.compose(claimed)

    composer = SlowComposer(worker.dispatcher(office, vendor)._parts.composer)
    dispatcher = worker.dispatcher(office, vendor, composer=composer)
    running = asyncio.create_task(dispatcher.run())
    await composer.asked.wait()
    stopping = asyncio.create_task(dispatcher.stop(5))
    await asyncio.sleep(0.01)
    gate.set()
    await asyncio.gather(stopping, running)
    assert vendor.taken == {}
    assert await all_in(office, State.QUEUED, ids)
    assert await office.count("attempts") == 0


async def test_a_lapsed_lease_stops_new_sends(office: Any) -> None:
    ids = await office.submit(10, category=Category.MARKETING)
    worker, vendor = await office.worker(), Vendor()
    inner = worker.dispatcher(office, vendor)._parts.composer

    class Interrupted:
        async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed | Withheld]:
            worker.lease.term += 1
            return await inner.compose(claimed)

    dispatcher = worker.dispatcher(office, vendor, composer=Interrupted(), depth=1)
    async with office.running(dispatcher):
        await asyncio.sleep(0.3)
    assert vendor.taken == {}
    assert await all_in(office, State.QUEUED, ids)


async def test_the_database_goes_away_between_send_and_settle(office: Any, admin: asyncpg.Connection) -> None:
    """Outcomes are kept and written when it is back; nothing is sent again, and no more is claimed meanwhile."""
    ids = await office.submit(60, category=Category.MARKETING)
    worker = await office.worker()

    class Saboteur(Vendor):
        turn = asyncio.Lock()

        async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
            outcomes = await super().send(messages, wire)
            async with self.turn:
                await admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where usename = 'waypost_worker' and datname = current_database()"
                )
            return outcomes

    vendor = Saboteur()
    async with office.running(worker.dispatcher(office, vendor, batch_size=20)):
        await office.until(lambda: all_in(office, State.DISPATCHED, ids))
    assert vendor.taken == dict.fromkeys(ids, 1)
    assert await office.count("outbox") == 60


async def test_a_settle_whose_commit_is_uncertain_is_repeated_without_harm(office: Any) -> None:
    ids = await office.submit(30)
    worker, vendor = await office.worker(), Vendor()
    real = worker.store.settle
    lies = {"left": 2}

    async def settle(*args: Any, **options: Any) -> Any:
        answer = await real(*args, **options)
        if lies["left"]:
            lies["left"] -= 1
            raise Unavailable("The answer was lost.")
        return answer

    worker.store.settle = settle
    async with office.running(worker.dispatcher(office, vendor, batch_size=30)):
        await office.until(lambda: all_in(office, State.DISPATCHED, ids))
    assert lies["left"] == 0
    assert await office.count("outbox") == 30
    assert await office.count("queue") == 0


async def test_a_worker_that_must_leave_without_a_database_leaves_its_journal(office: Any, tmp_path: Path) -> None:
    """What was sent and could not be written down is settled by the next worker, not sent again."""
    ids = await office.submit(12, category=Category.MARKETING)
    leaver, vendor = await office.worker(), Vendor()
    journal = JournalFile(tmp_path, leaver.id, slots=64)
    real, sent = leaver.store.settle, asyncio.Event()

    async def settle(*args: Any, **options: Any) -> Any:
        sent.set()
        raise Unavailable("away")

    leaver.store.settle = settle
    dispatcher = leaver.dispatcher(office, vendor, batch_size=12, journal=journal)
    running = asyncio.create_task(dispatcher.run())
    await sent.wait()
    await dispatcher.stop(0.1)
    async with asyncio.timeout(60):
        await running
    journal.close()
    leaver.store.settle = real
    heir = await office.worker()
    assert await heir.rescue(shelf=Shelf(tmp_path)).by_journals() == 12
    assert await all_in(office, State.DISPATCHED, ids)
    assert vendor.taken == dict.fromkeys(ids, 1)


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_skewed_clock_follows_the_database(office: Any, minutes: int) -> None:
    office.clock.correct(datetime.now(UTC) + timedelta(minutes=minutes))
    ids = await office.submit(5)
    worker, vendor = await office.worker(), Vendor()
    assert abs(office.clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
    async with office.running(worker.dispatcher(office, vendor)):
        await office.until(lambda: all_in(office, State.DISPATCHED, ids))
    strays = ("notifications_standard_default", "attempts_standard_default", "timeline_standard_default")
    assert [await office.count(table) for table in strays] == [0, 0, 0]


async def test_a_sender_that_breaks_down_leaves_only_what_went_in_doubt(office: Any) -> None:
    ids = await office.submit(10, category=Category.MARKETING)
    worker = await office.worker()

    class Broken(Vendor):
        async def take(self, notification_id: UUID) -> None:
            await super().take(notification_id)
            if len(self.taken) == 4:
                raise ZeroDivisionError

    vendor = Broken()
    async with office.running(worker.dispatcher(office, vendor, batch_size=10)):
        await office.until(lambda: _settled(office, ids))
    states = list((await office.states(ids)).values())
    assert states.count(State.UNCONFIRMED) == 1
    assert states.count(State.DISPATCHED) == 9
    assert set(vendor.taken.values()) == {1}


async def _settled(office: Any, ids: Sequence[UUID]) -> bool:
    return set((await office.states(ids)).values()) <= {State.DISPATCHED, State.UNCONFIRMED}


async def test_a_killed_worker_is_taken_up_by_its_journal(office: Any, tmp_path: Path) -> None:
    """Answered: settled as answered. On the wire: in doubt. Never sent: sent now. No lease needs to run out."""
    ids = await office.submit(30, category=Category.MARKETING)
    dead, vendor = await office.worker(), StuckVendor(answers=8)
    journal = JournalFile(tmp_path, dead.id, slots=64)
    dying = asyncio.create_task(dead.dispatcher(office, vendor, batch_size=30, journal=journal).run())
    await vendor.stuck.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    journal._memory.close()  # as the kernel does for a killed process
    os.close(journal._file)
    assert await all_in(office, State.DISPATCHING, ids)

    heir = await office.worker()
    assert await heir.rescue(shelf=Shelf(tmp_path)).by_journals() == 30
    states = list((await office.states(ids)).values())
    assert states.count(State.DISPATCHED) == 8
    assert states.count(State.UNCONFIRMED) == 1
    assert states.count(State.QUEUED) == 21
    assert await office.admin.fetchval("select min(claims) from queue") == 1
    await office.expire_lease(dead.id)
    assert await heir.rescue(shelf=Shelf(tmp_path)).by_journals() == 0
    assert files_in(tmp_path) == []
    second = Vendor()
    async with office.running(heir.dispatcher(office, second, batch_size=30)):
        await office.until(lambda: _settled(office, ids))
    assert all(times == 1 for times in (vendor.taken | second.taken).values())
    assert not vendor.taken.keys() & second.taken.keys()


async def test_a_living_workers_journal_is_left_alone(office: Any, tmp_path: Path) -> None:
    await office.submit(5)
    alive, heir = await office.worker(), await office.worker()
    journal = JournalFile(tmp_path, alive.id, slots=8)
    await alive.claim()
    assert await heir.rescue(shelf=Shelf(tmp_path)).by_journals() == 0
    assert await office.count("attempts", "outcome is null") == 5
    journal.close()


async def test_a_worker_signs_on_sends_and_leaves_nothing_behind(office: Any, tmp_path: Path) -> None:
    ids = await office.submit(25)
    kit, vendor = await office.worker(signed_on=False), Vendor()
    journal = JournalFile(tmp_path, kit.id, slots=400)
    worker = Worker(
        dispatcher=kit.dispatcher(office, vendor, journal=journal),
        lease=kit.lease,
        upkeep=Upkeep(store=kit.upkeep, rescue=kit.rescue(shelf=Shelf(tmp_path)), clock=kit.clock),
        journal=journal,
    )
    running = asyncio.create_task(worker.run())
    await office.until(lambda: all_in(office, State.DISPATCHED, ids))
    await worker.stop(5)
    await running
    assert await office.count("workers") == 0
    assert files_in(tmp_path) == []


async def test_a_worker_without_a_database_says_so_at_start(office: Any) -> None:
    kit = await office.worker(signed_on=False)
    for line in kit.lines:
        line._dsn = "postgresql://nobody@127.0.0.1:1/none"
    with pytest.raises(Unavailable):
        await kit.sign_on()
