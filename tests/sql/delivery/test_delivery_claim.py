"""Claiming: what comes off the queue, in whose hands, and in which order."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.delivery.model import QueueRow, State
from waypost.delivery.ports import LeaseLost
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention


async def test_a_claim_takes_what_is_due_and_opens_its_attempts(office: Any) -> None:
    ids = await office.submit(5)
    worker = await office.worker()
    batch_id, claimed = await worker.claim()
    assert sorted(one.id for one in claimed) == ids
    assert {(one.n, one.claims, one.tenant_id, one.category) for one in claimed} == {
        (1, 0, "acme", Category.TRANSACTIONAL)
    }
    assert all(one.data_key == b"k" and one.payload == b"payload" and not one.gate_changed for one in claimed)
    assert await office.count("queue") == 0
    assert await office.count("attempts", "outcome is null and n = 1") == 5
    held = await office.admin.fetch("select id, worker_id, ids from claims")
    assert [(row["id"], row["worker_id"], row["ids"]) for row in held] == [(batch_id, worker.id, ids)]
    assert set((await office.states(ids)).values()) == {State.DISPATCHING}


async def test_a_claim_leaves_no_tenant_behind(office: Any) -> None:
    await office.submit(1)
    worker = await office.worker()
    async with worker.lines[0].use() as connection, connection.transaction():
        await connection.fetch("select * from waypost.claim($1, $1, 10)", worker.id)
        assert await connection.fetchval("select current_setting('app.tenant_id', true)") == ""
        assert await connection.fetchval("select count(*) from waypost.attempts") == 0
    async with worker.lines[0].use() as connection:
        assert await connection.fetchval("select current_setting('app.tenant_id', true)") == ""


async def test_what_is_not_due_stays_and_is_told_when(office: Any) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=5)
    [later] = await office.submit(1, due=soon)
    worker = await office.worker()
    assert (await worker.claim())[1] == []
    assert await worker.store.next_due() == soon
    assert await office.state(later) == (State.SCHEDULED, None)


async def test_a_worker_without_a_lease_gets_nothing(office: Any) -> None:
    await office.submit(1)
    worker = await office.worker(signed_on=False)
    with pytest.raises(LeaseLost):
        await worker.claim()
    await worker.sign_on()
    await office.expire_lease(worker.id)
    with pytest.raises(LeaseLost):
        await worker.claim()
    assert await office.count("queue") == 1


async def test_suspended_tenants_wait_and_come_back(office: Any) -> None:
    await office.make_tenant("resting", status="suspended")
    await office.submit(2, tenant="resting")
    [active] = await office.submit(1)
    worker = await office.worker()
    assert [one.id for one in (await worker.claim())[1]] == [active]
    assert await office.count("queue") == 2
    await office.admin.execute("update tenants set status = 'active' where id = 'resting'")
    await office.admin.execute("update lanes set due = now() where tenant_id = 'resting'")
    assert len((await worker.claim())[1]) == 2


async def test_many_small_lanes_come_in_one_claim(office: Any) -> None:
    for number in range(12):
        await office.make_tenant(f"small-{number:02}")
        await office.submit(3, tenant=f"small-{number:02}", category=Category.MARKETING)
    worker = await office.worker()
    _, claimed = await worker.claim(100)
    assert len(claimed) == 36
    assert {one.retention for one in claimed} == {Retention.MARKETING}
    assert await office.count("claims") == 12
    assert await office.count("lanes", "due < 'infinity'") == 0


async def test_two_workers_never_take_the_same_row(office: Any) -> None:
    ids = await office.submit(600)
    workers = [await office.worker() for _ in range(4)]

    async def drain(worker: Any) -> list[Any]:
        taken: list[Any] = []
        while claimed := (await worker.claim(37))[1]:
            taken += [one.id for one in claimed]
        return taken

    shares = await asyncio.gather(*(drain(worker) for worker in workers))
    assert sorted(one for share in shares for one in share) == ids
    assert await office.count("attempts") == 600


async def test_an_urgent_message_overtakes_a_big_tenants_queue(office: Any) -> None:
    await office.make_tenant("big")
    await office.submit(1000, tenant="big")
    worker = await office.worker()
    await worker.claim(200)
    [urgent] = await office.submit(1, priority=Priority.URGENT)
    _, claimed = await worker.claim(200)
    assert urgent in {one.id for one in claimed}


async def test_a_lane_that_wakes_pays_for_nothing_it_saved(office: Any) -> None:
    """After idling, a lane joins where the others are: neither first for long, nor last."""
    for tenant in ("busy", "idler"):
        await office.make_tenant(tenant)
    await office.submit(400, tenant="busy")
    worker = await office.worker()
    for _ in range(10):
        await worker.claim(20)
    await office.submit(400, tenant="idler")
    shares = {"busy": 0, "idler": 0}
    for _ in range(10):
        for one in (await worker.claim(20))[1]:
            shares[one.tenant_id] += 1
    assert abs(shares["busy"] - shares["idler"]) <= 20


async def test_low_is_slower_but_never_starved(office: Any) -> None:
    for tenant, priority in (("one", Priority.URGENT), ("two", Priority.NORMAL), ("three", Priority.LOW)):
        await office.make_tenant(tenant)
        await office.submit(1500, tenant=tenant, priority=priority)
    worker = await office.worker()
    taken = {"one": 0, "two": 0, "three": 0}
    for _ in range(105):
        for one in (await worker.claim(10))[1]:
            taken[one.tenant_id] += 1
    assert sum(taken.values()) == 1050
    assert taken["one"] / taken["two"] == pytest.approx(4, rel=0.2)
    assert taken["two"] / taken["three"] == pytest.approx(4, rel=0.35)


async def test_rows_that_killed_their_worker_go_alone(office: Any) -> None:
    [innocent] = await office.submit(1)
    [suspect] = await office.submit(1, claims=2)
    worker = await office.worker()
    assert [one.id for one in (await worker.claim())[1]] == [innocent]
    assert await worker.store.has_suspects()
    alone = await worker.store.claim_suspect(worker.id, worker.id)
    assert alone is not None
    assert (alone.id, alone.claims) == (suspect, 2)
    assert await worker.store.claim_suspect(worker.id, worker.id) is None
    assert not await worker.store.has_suspects()


async def test_a_row_queued_twice_is_dropped_not_sent_twice(office: Any) -> None:
    [once] = await office.submit(1)
    worker = await office.worker()
    await worker.claim()
    await office.admin.execute(
        "insert into queue (tenant_id, channel, priority, due, id, retention) values ('acme', 1, 1, now(), $1, 1)", once
    )
    await office.admin.execute("update lanes set due = now(), head = '-infinity'")
    assert (await worker.claim())[1] == []
    assert await office.count("queue") == 0
    assert await office.count("attempts") == 1


async def test_a_row_queued_twice_keeps_nobody_beside_it_from_going(office: Any) -> None:
    sent = await office.submit(3)
    worker = await office.worker()
    await worker.claim()
    waiting = await office.submit(2)
    await office.admin.execute(
        "insert into queue (tenant_id, channel, priority, due, id, retention)"
        " select 'acme', 1, 1, now(), u.id, 1 from unnest($1::uuid[]) as u (id)",
        sent[:2],
    )
    await office.admin.execute("update lanes set due = now(), head = '-infinity'")
    claimed = (await worker.claim())[1]
    assert {(one.id, one.n, one.claims) for one in claimed} == {(one, 1, 0) for one in waiting}
    assert (await office.count("queue"), await office.count("attempts")) == (0, 5)


async def test_no_row_is_missed_when_lanes_fall_asleep_under_inserts(office: Any) -> None:
    """Inserters and claims race over one lane that is empty most of the time: nothing waits for the repair sweep."""
    worker = await office.worker()
    wanted: set[Any] = set()
    got: set[Any] = set()
    done = asyncio.Event()

    async def insert() -> None:
        for _ in range(40):
            wanted.update(await office.submit(1))
            await asyncio.sleep(0.001)

    async def take() -> None:
        while True:
            finished = done.is_set()
            claimed = (await worker.claim(50))[1]
            got.update(one.id for one in claimed)
            if finished and not claimed and await worker.store.next_due() is None:
                return
            await asyncio.sleep(0)

    taker = asyncio.create_task(take())
    await asyncio.gather(insert())
    done.set()
    async with asyncio.timeout(60):
        await taker
    assert got == wanted
    assert await worker.upkeep.wake_sleeping_lanes() == 0


async def test_a_lane_put_to_sleep_by_mistake_is_woken_by_the_sweep(office: Any) -> None:
    [one] = await office.submit(1)
    worker = await office.worker()
    await office.admin.execute("update lanes set due = 'infinity', head = 'infinity'")
    assert (await worker.claim())[1] == []
    assert await worker.upkeep.wake_sleeping_lanes() == 1
    assert [claimed.id for claimed in (await worker.claim())[1]] == [one]


async def test_a_submit_in_progress_holds_up_neither_others_nor_the_claim(office: Any) -> None:
    first = (await office.submit(1))[0]
    worker = await office.worker()
    unfinished = QueueRow(
        id=mint(office.clock),
        channel=Channel.EMAIL,
        priority=Priority.NORMAL,
        due=datetime.now(UTC),
        retention=Retention.STANDARD,
    )
    with suppress(ZeroDivisionError):
        async with office.api_work.begin("acme") as tx, asyncio.timeout(60):
            await office.delivery.enqueue(tx, [unfinished])
            [second] = await office.submit(1)
            _, claimed = await worker.claim()
            raise ZeroDivisionError  # the submit fails in the end
    assert {one.id for one in claimed} == {first, second}
    assert office.rings == 2
