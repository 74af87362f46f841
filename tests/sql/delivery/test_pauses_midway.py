"""A pause that comes while workers are at it: what is claimed, composed or on the wire when it begins or ends."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.pause_desk import Desk, desk, make_batch

from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.ports import Wire, Withdrawn
from waypost.delivery.model import Claimed, State
from waypost.delivery.pause_book import Stop
from waypost.delivery.pause_model import Pause, PauseScope
from waypost.delivery.ports import Composed
from waypost.delivery.rules import hold_back
from waypost.kernel.ids import show
from waypost.kernel.vocabulary import Category

__all__ = ["desk"]

SENT = Outcome(kind=OutcomeKind.ACCEPTED)


@dataclass
class Vendor:
    """Sends one after the other; `after` is called before each goes on the wire."""

    before: Any = None
    sent: list[bytes] = field(default_factory=list[bytes])

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for index, message in enumerate(messages):
            if self.before is not None:
                await self.before(len(self.sent))
            try:
                wire.going(index)
            except Withdrawn:
                gone = Outcome(kind=OutcomeKind.UNREACHABLE)
                return outcomes + [gone] * (len(messages) - len(outcomes))
            self.sent.append(message.data)
            wire.answered(index, SENT)
            outcomes.append(SENT)
        return outcomes

    async def close(self) -> None: ...


async def test_what_comes_later_is_claimed_once_and_then_held(office: Any, desk: Desk) -> None:
    await desk.pause(PauseScope.CATEGORY, "marketing")
    worker, vendor = await office.worker(), Vendor()
    await desk.book.read()
    ids = await office.submit(3, category=Category.MARKETING)
    async with office.running(worker.dispatcher(office, vendor, pauses=desk.book)):
        await office.until(lambda: _is(desk.held, 3))
    assert vendor.sent == []
    assert await office.count("attempts") == 0
    assert (await worker.claim())[1] == []
    assert set((await office.states(ids)).values()) == {State.QUEUED}


async def test_what_was_claimed_before_the_pause_is_not_sent_after_it(office: Any, desk: Desk) -> None:
    """In the middle of a batch: the third message has not begun when the tenant is paused."""
    ids = await office.submit(5)
    kept: list[Pause] = []

    async def before(sent: int) -> None:
        if sent == 2 and not kept:
            kept.append(await desk.pause(PauseScope.TENANT))
            await desk.book.read()

    worker, vendor = await office.worker(), Vendor(before)
    async with office.running(worker.dispatcher(office, vendor, pauses=desk.book)):
        await office.until(lambda: _is(lambda: office.count("queue"), 3))
    assert len(vendor.sent) == 2
    states = sorted((await office.states(ids)).values())
    assert states == [State.QUEUED] * 3 + [State.DISPATCHED] * 2
    await desk.resume(kept[0])
    await desk.book.read()
    worker = await office.worker()
    async with office.running(worker.dispatcher(office, vendor, pauses=desk.book)):
        await office.until(lambda: _is(lambda: _length(vendor.sent), 5))
    assert sorted(vendor.sent) == sorted(one.bytes for one in ids)


async def test_a_pause_of_a_broadcast_reaches_a_batch_that_is_being_composed(
    office: Any, desk: Desk, plain_composer: Any
) -> None:
    ids = await office.submit(4)
    batch = await make_batch(office, ids[:2])

    class Composer:
        async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed]:
            await desk.pause(PauseScope.BROADCAST, show("dbt", batch))
            await desk.book.read()
            return await plain_composer.compose(claimed)

    worker, vendor = await office.worker(), Vendor()
    async with office.running(worker.dispatcher(office, vendor, pauses=desk.book, composer=Composer())):
        await office.until(lambda: _is(desk.held, 2))
    assert sorted(vendor.sent) == sorted(one.bytes for one in ids[2:])


async def test_rows_held_for_a_pause_that_has_ended_meanwhile_go_back_to_their_lane(office: Any, desk: Desk) -> None:
    """The worker's book was a moment too old: nothing is left where nobody looks."""
    pause = await desk.pause(PauseScope.CATEGORY, "marketing")
    await desk.book.read()
    [one] = await office.submit(1, category=Category.MARKETING)
    worker = await office.worker()
    batch_id, [claimed] = await worker.claim()
    await desk.resume(pause)
    await worker.settler.settle(batch_id, [hold_back(claimed, office.clock.now(), Stop.ROW)])
    assert await desk.held() == 0
    assert [again.id for again in (await worker.claim())[1]] == [one]


async def _length(sent: Sequence[bytes]) -> int:
    return len(sent)


async def _is(count: Any, wanted: int) -> bool:
    await asyncio.sleep(0)
    return await count() == wanted
