"""Events wait for their commit and for nothing else; what comes meanwhile goes together."""

import asyncio
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Unavailable
from waypost.kernel.tracking import Client
from waypost.kernel.work import Transaction
from waypost.tracking.model import Kind, Seen
from waypost.tracking.record import Recorder


class Ledger:
    """A store whose commits happen when a test lets them."""

    def __init__(self) -> None:
        self.commits: list[tuple[str, int]] = []
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.fault: Exception | None = None
        self.told: list[tuple[str, str]] = []
        self.at_once = self.most_at_once = 0

    @asynccontextmanager
    async def begin(self, tenant_id: str) -> AsyncIterator[Transaction]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield Transaction(tenant_id)
            await self.may_commit.wait()
            if self.fault:
                raise self.fault
        finally:
            self.at_once -= 1

    async def add(self, tx: Transaction, seen: Sequence[Seen]) -> Set[UUID]:
        self.commits.append((tx.tenant_id, len(seen)))
        return {one.id for one in seen if one.link != 9}

    def seen(self, kind: str, result: str, times: int = 1) -> None:
        self.told += [(kind, result)] * times


@pytest.fixture
async def ledger() -> Ledger:
    return Ledger()


def recorder_on(ledger: Ledger, clock: VirtualClock | None = None) -> Recorder:
    return Recorder(work=ledger, store=ledger, telemetry=ledger, clock=clock or VirtualClock())  # pyright: ignore[reportArgumentType]


def a_click(link: int = 1, message: UUID | None = None) -> Seen:
    return Seen(
        id=uuid4(),
        notification_id=message or uuid4(),
        kind=Kind.CLICKED,
        at=VirtualClock().now(),
        client=Client.BROWSER,
        link=link,
    )


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_nobody_hears_before_the_commit(ledger: Ledger) -> None:
    recorder = recorder_on(ledger)
    ledger.may_commit.clear()
    first = asyncio.create_task(recorder.keep("acme", a_click()))
    await settle()
    assert ledger.commits == [("acme", 1)]
    assert not first.done()
    ledger.may_commit.set()
    assert await first is True
    assert ledger.told == [("clicked", "recorded")]


async def test_what_comes_during_a_commit_goes_together_in_the_next(ledger: Ledger) -> None:
    recorder = recorder_on(ledger)
    ledger.may_commit.clear()
    waiting = [asyncio.create_task(recorder.keep("acme", a_click())) for _ in range(1)]
    await settle()
    waiting += [asyncio.create_task(recorder.keep("acme", a_click())) for _ in range(50)]
    await settle()
    ledger.may_commit.set()
    assert await asyncio.gather(*waiting) == [True] * 51
    assert ledger.commits == [("acme", 1), ("acme", 50)]


async def test_tenants_do_not_wait_for_each_other_and_take_few_connections(ledger: Ledger) -> None:
    recorder = recorder_on(ledger)
    tenants = [f"tenant-{number}" for number in range(10)]
    assert await asyncio.gather(*(recorder.keep(tenant, a_click()) for tenant in tenants)) == [True] * 10
    assert sorted(ledger.commits) == sorted((tenant, 1) for tenant in tenants)
    assert ledger.most_at_once <= 2


async def test_what_cannot_be_kept_is_said_and_counted_and_the_next_try_is_a_new_one(ledger: Ledger) -> None:
    recorder = recorder_on(ledger)
    ledger.fault = Unavailable("away")
    assert await recorder.keep("acme", a_click()) is False
    assert ledger.told == [("clicked", "lost")]
    ledger.fault = None
    assert await recorder.keep("acme", a_click()) is True


async def test_what_the_store_leaves_out_is_counted_as_such(ledger: Ledger) -> None:
    assert await recorder_on(ledger).keep("acme", a_click(link=9)) is True
    assert ledger.told == [("clicked", "left_out")]


async def test_who_stops_waiting_costs_the_others_nothing(ledger: Ledger) -> None:
    recorder = recorder_on(ledger)
    ledger.may_commit.clear()
    impatient = asyncio.create_task(recorder.keep("acme", a_click()))
    patient = asyncio.create_task(recorder.keep("acme", a_click()))
    await settle()
    impatient.cancel()
    await settle()
    ledger.may_commit.set()
    assert await patient is True
    assert ledger.commits == [("acme", 2)]


async def test_one_token_is_no_way_to_fill_a_disk(ledger: Ledger) -> None:
    clock = VirtualClock()
    recorder, message = recorder_on(ledger, clock), uuid4()
    for _ in range(150):
        assert await recorder.keep("acme", a_click(message=message)) is True
    assert len(ledger.commits) == 100
    assert ledger.told.count(("clicked", "repeated")) == 50
    await recorder.keep("acme", a_click(link=2, message=message))
    assert len(ledger.commits) == 101
    await clock.advance(3_600)
    await recorder.keep("acme", a_click(message=message))
    assert len(ledger.commits) == 102


async def test_closing_waits_for_what_is_on_its_way(ledger: Ledger) -> None:
    recorder = recorder_on(ledger)
    ledger.may_commit.clear()
    event = asyncio.create_task(recorder.keep("acme", a_click()))
    await settle()
    closing = asyncio.create_task(recorder.close())
    await settle()
    assert not closing.done()
    ledger.may_commit.set()
    await closing
    assert await event is True
