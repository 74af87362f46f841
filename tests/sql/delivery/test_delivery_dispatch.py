"""The whole road on a real database: a vendor that remembers, and everything that can go wrong on the way."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.adapters.postgres.notify import Bell, Listener
from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.ports import Wire
from waypost.delivery.model import Claimed, State
from waypost.delivery.ports import Composed, Withheld
from waypost.delivery.upkeep import Upkeep
from waypost.delivery.worker import Worker
from waypost.kernel.errors import Unavailable
from waypost.kernel.vocabulary import Category, Channel
from waypost.suppression.model import NewSuppression, SuppressionReason

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED, code=250, latency_ms=3)


class Vendor:
    """Accepts everything and remembers how often it got each."""

    def __init__(self) -> None:
        self.taken: dict[UUID, int] = {}
        self.batches: list[int] = []

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        self.batches.append(len(messages))
        for index, message in enumerate(messages):
            wire.going(index)
            await self.take(UUID(bytes=message.data))
            wire.answered(index, ACCEPTED)
        return [ACCEPTED] * len(messages)

    async def take(self, notification_id: UUID) -> None:
        self.taken[notification_id] = self.taken.get(notification_id, 0) + 1

    async def close(self) -> None: ...


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


class StuckVendor(Vendor):
    """Takes messages and answers only the first `answers` of them."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers
        self.stuck = asyncio.Event()

    async def take(self, notification_id: UUID) -> None:
        await super().take(notification_id)
        if len(self.taken) > self.answers:
            self.stuck.set()
            await asyncio.Event().wait()


async def all_in(office: Any, state: State, ids: Sequence[UUID], tenant: str = "acme") -> bool:
    return set((await office.states(ids, tenant)).values()) == {state}


async def test_everything_is_sent_once_and_settled(office: Any) -> None:
    await office.make_tenant("other")
    ids, others = await office.submit(300), await office.submit(100, tenant="other", category=Category.MARKETING)
    worker, vendor = await office.worker(), Vendor()
    dispatcher = worker.dispatcher(office, vendor, batch_size=50)
    async with office.running(dispatcher):
        await office.until(lambda: all_in(office, State.DISPATCHED, ids))
        await office.until(lambda: all_in(office, State.DISPATCHED, others, "other"))
    assert dispatcher.in_hand == set()
    assert vendor.taken == dict.fromkeys([*ids, *others], 1)
    assert max(vendor.batches) == 50
    assert await office.count("outbox") == 400
    assert await office.count("claims") == 0


async def test_the_first_part_of_a_batch_is_sent_while_the_rest_is_composed(office: Any, plain_composer: Any) -> None:
    ids = await office.submit(250)
    worker, vendor, composed = await office.worker(), Vendor(), list[int]()

    class Composer:
        async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed | Withheld]:
            composed.append(len(claimed))
            if len(composed) > 1:
                await office.until(lambda: _has(vendor, 100))
            return await plain_composer.compose(claimed)

    async with office.running(worker.dispatcher(office, vendor, batch_size=500, composer=Composer())):
        await office.until(lambda: all_in(office, State.DISPATCHED, ids))
    assert sum(composed) == 250
    assert max(composed) == 100
    assert vendor.taken == dict.fromkeys(ids, 1)


async def test_an_idle_worker_hears_the_bell_within_a_tenth_of_a_second(office: Any, database: Any) -> None:
    worker, vendor = await office.worker(), Vendor()
    bell, listener = Bell(database.api, office.clock), Listener(database.worker, office.clock)
    office.delivery._ring = bell.ring
    loop = asyncio.get_running_loop()
    waits: list[float] = []
    try:
        async with office.running(worker.dispatcher(office, vendor, ear=listener)):
            await office.submit(1)
            await office.until(lambda: _has(vendor, 1))
            for wanted in range(2, 6):
                await asyncio.sleep(0.1)
                await office.submit(1)
                committed = loop.time()
                await office.until(lambda wanted=wanted: _has(vendor, wanted))
                waits.append(loop.time() - committed)
    finally:
        await bell.close()
        await listener.close()
    assert sorted(waits)[1] < 0.1


async def _has(vendor: Vendor, count: int) -> bool:
    return len(vendor.taken) >= count


async def test_the_gate_is_asked_again_when_something_changed(office: Any) -> None:
    [blocked, free] = await office.submit(2)
    person = await office.admin.fetchval("select recipient_id from notifications where id = $1", blocked)
    address = await office.admin.fetchval("select hash from addresses where recipient_id = $1", person)
    async with office.api_work.begin("acme") as tx:
        new = NewSuppression(
            channel=Channel.EMAIL, hash=address, masked="x", reason=SuppressionReason.COMPLAINT, source="test"
        )
        await office.suppressions.put(tx, uuid4(), new)
    worker, vendor = await office.worker(), Vendor()
    async with office.running(worker.dispatcher(office, vendor)):
        await office.until(lambda: all_in(office, State.DISPATCHED, [free]))
        await office.until(lambda: all_in(office, State.SUPPRESSED, [blocked]))
    assert list(vendor.taken) == [free]
    async with office.api_work.begin("acme") as tx:
        [entry] = await office.delivery.timeline(tx, blocked)
    assert entry.detail == {"rule": "suppression", "suppression": "complaint"}


async def test_what_has_expired_or_lost_its_recipient_is_not_sent(office: Any) -> None:
    [expired, erased] = await office.submit(2)
    await office.admin.execute("update notifications set expires_at = now() where id = $1", expired)
    await office.admin.execute(
        "update recipients set data_key = null, erased_at = now()"
        " where id = (select recipient_id from notifications where id = $1)",
        erased,
    )
    worker, vendor = await office.worker(), Vendor()
    async with office.running(worker.dispatcher(office, vendor)):
        await office.until(lambda: all_in(office, State.EXPIRED, [expired]))
        await office.until(lambda: all_in(office, State.SUPPRESSED, [erased]))
    assert vendor.taken == {}
    assert await office.state(erased) == (State.SUPPRESSED, "recipient_erased")


class PickyComposer:
    """Breaks down over one notification, withholds another."""

    def __init__(self, inner: Any, poison: UUID, bad: UUID) -> None:
        self.inner, self.poison, self.bad = inner, poison, bad
        self.sizes: list[int] = []

    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed | Withheld]:
        if any(one.id == self.poison for one in claimed):
            self.sizes.append(len(claimed))
            raise ZeroDivisionError
        composed = await self.inner.compose(claimed)
        withheld = Withheld(state=State.FAILED, reason="render_failed", detail={"message": "no"})
        return [withheld if one.id == self.bad else done for one, done in zip(claimed, composed, strict=True)]


async def test_a_row_that_breaks_the_composer_is_isolated_and_buried(office: Any) -> None:
    ids = await office.submit(6)
    poison, bad, *good = ids
    worker, vendor = await office.worker(), Vendor()
    dispatcher = worker.dispatcher(office, vendor, depth=2)
    composer = PickyComposer(dispatcher._parts.composer, poison, bad)
    dispatcher = worker.dispatcher(office, vendor, composer=composer)
    async with office.running(dispatcher):
        await office.until(lambda: all_in(office, State.DISPATCHED, good))
        await office.until(lambda: all_in(office, State.FAILED, [poison, bad]))
    assert await office.state(poison) == (State.FAILED, "dead_letter")
    assert await office.state(bad) == (State.FAILED, "render_failed")
    assert composer.sizes == [6, 6, 1, 1]
    assert vendor.taken == dict.fromkeys(good, 1)


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
