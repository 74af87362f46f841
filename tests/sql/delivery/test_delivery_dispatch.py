"""The whole road on a real database: a vendor that remembers, and everything that can go wrong on the way."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from tests.remembering_vendor import Vendor, all_in

from waypost.adapters.postgres.notify import Bell, Listener
from waypost.delivery.model import Claimed, State
from waypost.delivery.ports import Composed, Withheld
from waypost.kernel.vocabulary import Category, Channel
from waypost.suppression.model import NewSuppression, SuppressionReason


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
