"""Lost workers: what they held is taken up, what they come back with is kept, and nothing counts twice."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.model import Claimed, Closed, State
from waypost.delivery.rules import close, give_back
from waypost.kernel.vocabulary import Category

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED, code=250, latency_ms=3)
REFUSED = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, code=554)
LATER = Outcome(kind=OutcomeKind.DEFERRED, reason=OutcomeReason.SLOW_DOWN, code=451)


def closed(claimed: Claimed, outcome: Outcome) -> Closed:
    return close(claimed, outcome, datetime.now(UTC), lambda: 0.5)


async def lose(office: Any, worker: Any) -> None:
    """Others believe the worker dead, and the database has been up for a lease."""
    await office.expire_lease(worker.id)


@pytest.fixture
async def rescuer(office: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    kit = await office.worker()

    async def rescue() -> int:
        lost = await office.admin.fetch("select id from workers where lease_until < now()")
        monkeypatch.setattr(kit.leases, "lost", lambda _: _answer([row["id"] for row in lost]))
        return await kit.rescue().by_leases()

    kit.take_up = rescue
    return kit


async def _answer(value: Any) -> Any:
    return value


async def test_a_lost_workers_rows_follow_the_rule_of_their_category(office: Any, rescuer: Any) -> None:
    [letter] = await office.submit(1)
    [advert] = await office.submit(1, category=Category.MARKETING)
    lost = await office.worker()
    await lost.claim()
    await lose(office, lost)
    assert await rescuer.take_up() == 2
    assert await office.state(letter) == (State.QUEUED, "worker_lost")
    assert await office.state(advert) == (State.UNCONFIRMED, "worker_lost")
    assert await office.admin.fetchval("select claims from queue") == 1
    assert await office.count("claims") == 0
    assert await office.count("workers") == 1
    assert await rescuer.take_up() == 0


async def test_what_was_settled_before_is_left_alone(office: Any, rescuer: Any) -> None:
    await office.submit(3)
    lost = await office.worker()
    batch, claimed = await lost.claim()
    await lost.store.settle(lost.id, batch, [closed(claimed[0], ACCEPTED)], whole=False)
    await lose(office, lost)
    assert await rescuer.take_up() == 2
    assert await office.state(claimed[0].id) == (State.DISPATCHED, None)
    assert await office.count("queue") == 2


async def test_a_row_without_an_attempt_goes_back(office: Any, rescuer: Any) -> None:
    [one] = await office.submit(1)
    lost = await office.worker()
    await lost.claim()
    await office.admin.execute("delete from attempts")
    await lose(office, lost)
    await rescuer.take_up()
    assert await office.state(one) == (State.QUEUED, None)


async def test_a_zombie_may_only_tell_the_truth_about_its_own_attempt(office: Any, rescuer: Any) -> None:
    [one] = await office.submit(1)
    zombie = await office.worker()
    batch, [claimed] = await zombie.claim()
    await lose(office, zombie)
    await rescuer.take_up()
    second_batch, [again] = await rescuer.claim()
    assert (again.id, again.n) == (one, 2)
    assert await zombie.store.settle(zombie.id, batch, [closed(claimed, REFUSED)], whole=True) == {one}
    assert await office.state(one) == (State.DISPATCHING, None)
    await rescuer.store.settle(rescuer.id, second_batch, [closed(again, ACCEPTED)], whole=True)
    assert await office.state(one) == (State.DISPATCHED, None)
    outcomes = await office.admin.fetch("select n, outcome, reason from attempts order by n")
    assert [tuple(row) for row in outcomes] == [(1, 3, "policy"), (2, 1, None)]
    assert await office.count("queue") == 0


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(ACCEPTED, State.DISPATCHED), (REFUSED, State.FAILED), (LATER, State.QUEUED)],
)
async def test_where_nobody_carried_it_on_the_late_truth_counts(
    office: Any, rescuer: Any, outcome: Outcome, state: State
) -> None:
    [advert] = await office.submit(1, category=Category.MARKETING)
    zombie = await office.worker()
    batch, [claimed] = await zombie.claim()
    await lose(office, zombie)
    await rescuer.take_up()
    assert await office.state(advert) == (State.UNCONFIRMED, "worker_lost")
    assert await zombie.store.settle(zombie.id, batch, [closed(claimed, outcome)], whole=True) == set()
    assert (await office.state(advert))[0] is state
    again = await zombie.store.settle(zombie.id, batch, [closed(claimed, outcome)], whole=True)
    assert again == {advert}
    assert await office.count("outbox") == 2


async def test_a_zombie_that_never_sent_gives_marketing_back(office: Any, rescuer: Any) -> None:
    [advert] = await office.submit(1, category=Category.MARKETING)
    zombie = await office.worker()
    batch, [claimed] = await zombie.claim()
    await lose(office, zombie)
    await rescuer.take_up()
    returned = give_back(claimed, datetime.now(UTC), blamed=False)
    await zombie.store.settle(zombie.id, batch, [returned], whole=True)
    assert await office.state(advert) == (State.QUEUED, None)
    assert [one.n for one in (await rescuer.claim())[1]] == [1]


async def test_a_zombie_that_never_sent_says_so_where_others_went_on(office: Any, rescuer: Any) -> None:
    [letter] = await office.submit(1)
    zombie = await office.worker()
    batch, [claimed] = await zombie.claim()
    await lose(office, zombie)
    await rescuer.take_up()
    await rescuer.claim()
    returned = give_back(claimed, datetime.now(UTC), blamed=False)
    assert await zombie.store.settle(zombie.id, batch, [returned], whole=True) == {letter}
    rows = await office.admin.fetch("select n, outcome, reason from attempts order by n")
    assert [tuple(row) for row in rows] == [(1, 4, "not_sent"), (2, None, None)]
    assert await office.count("queue") == 0


async def test_two_rescuers_do_no_more_than_one(office: Any, rescuer: Any) -> None:
    await office.submit(20)
    adverts = await office.submit(20, category=Category.MARKETING)
    lost = await office.worker()
    await lost.claim()
    await lose(office, lost)
    other = await office.worker()
    lost_ids = [lost.id]

    async def judge(_: float) -> list[Any]:
        return lost_ids

    other.leases.lost = judge
    await asyncio.gather(rescuer.take_up(), other.rescue().by_leases())
    assert await office.count("queue") == 20
    assert await office.count("outbox") == 40
    assert set((await office.states(adverts)).values()) == {State.UNCONFIRMED}


async def test_nobody_is_lost_within_a_lease_of_the_servers_start(office: Any) -> None:
    lost, judge = await office.worker(), await office.worker()
    await lose(office, lost)
    assert lost.id not in await judge.leases.lost(10**7)
    assert lost.id in await judge.leases.lost(0.001)


async def test_claims_of_an_unknown_worker_are_found(office: Any) -> None:
    await office.submit(1)
    lost, judge = await office.worker(), await office.worker()
    await lost.claim()
    await office.admin.execute("delete from workers where id = $1", lost.id)
    assert list(await judge.leases.lost(0.001)) == [lost.id]


async def test_a_worker_that_comes_back_is_not_forgotten(office: Any) -> None:
    worker = await office.worker()
    await worker.leases.forget(worker.id)
    assert await worker.leases.is_known(worker.id)
    await lose(office, worker)
    await worker.leases.forget(worker.id)
    assert not await worker.leases.is_known(worker.id)
    await worker.sign_on()
    assert await worker.leases.is_known(worker.id)


async def test_signing_off_waits_for_what_is_held(office: Any) -> None:
    await office.submit(1)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    await worker.leases.sign_off(worker.id)
    assert await worker.leases.is_known(worker.id)
    await worker.store.settle(worker.id, batch, [closed(claimed, ACCEPTED)], whole=True)
    await worker.leases.sign_off(worker.id)
    assert not await worker.leases.is_known(worker.id)
