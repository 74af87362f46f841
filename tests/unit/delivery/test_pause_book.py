"""The book of pauses on a clock of its own: a running worker stops within two seconds, and goes on at once."""

import asyncio
from collections.abc import Sequence, Set
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.ports import Wire, Withdrawn
from waypost.delivery.dispatch import Dispatcher
from waypost.delivery.dispatch_parts import DispatchParts
from waypost.delivery.model import Claimed, Returned, Settlement
from waypost.delivery.pause_book import PauseBook, Stop
from waypost.delivery.pause_model import PauseMark, PauseScope
from waypost.delivery.ports import Composed
from waypost.kernel.clock import VirtualClock
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention

SENT = Outcome(kind=OutcomeKind.ACCEPTED)
SECONDS_PER_MESSAGE = 0.1


class Board:
    def __init__(self) -> None:
        self.marks: list[PauseMark] = []
        self.members: set[UUID] = set()

    async def in_force(self) -> Sequence[PauseMark]:
        return list(self.marks)

    async def held(self, tenant_id: str, ids: Sequence[UUID]) -> Set[UUID]:
        return self.members & set(ids)

    def pause(self, scope: PauseScope, subject: str = "", tenant: str = "acme") -> None:
        self.marks.append(PauseMark(tenant_id=tenant, scope=scope, subject=subject))


def message(clock: VirtualClock, tenant: str = "acme", category: Category = Category.TRANSACTIONAL) -> Claimed:
    return Claimed(
        tenant_id=tenant,
        id=uuid4(),
        retention=Retention.STANDARD,
        n=1,
        claims=0,
        channel=Channel.EMAIL,
        category=category,
        priority=Priority.NORMAL,
        expires_at=clock.now() + timedelta(days=1),
        recipient_id=uuid4(),
        address_id=None,
        version_id=uuid4(),
        locale=None,
        payload=b"",
        secrets=None,
        data_key=b"k",
        gate_changed=False,
    )


async def test_each_scope_stops_what_it_names() -> None:
    clock, board = VirtualClock(), Board()
    book = PauseBook(board=board, clock=clock)
    one, other = message(clock), message(clock, "globex", Category.MARKETING)
    account = uuid4()
    for scope, subject, stop in (
        (PauseScope.TENANT, "", Stop.LANE),
        (PauseScope.CHANNEL, "1", Stop.LANE),
        (PauseScope.CATEGORY, "1", Stop.ROW),
        (PauseScope.BROADCAST, uuid4().hex, Stop.ROW),
    ):
        board.marks, board.members = [], {one.id, other.id}
        board.pause(scope, subject)
        await book.read()
        await book.look_at([one, other])
        with book.carrying(uuid4(), [one, other]):
            await book.read()
            await book.look_at([one, other])
            assert (book.stop_of(one), book.stop_of(other)) == (stop, None)
    board.marks = []
    board.pause(PauseScope.ACCOUNT, account.hex)
    await book.read()
    assert (book.is_paused(account), book.is_paused(uuid4()), book.stop_of(one)) == (True, False, None)
    board.marks = []
    await book.read()
    assert not book.is_paused(account)


async def test_the_book_is_read_at_least_once_a_second_and_when_the_bell_rings() -> None:
    clock, board = VirtualClock(), Board()
    book = PauseBook(board=board, clock=clock)
    keeping = asyncio.create_task(book.keep_fresh())
    await clock.advance(5)
    one = message(clock)
    board.pause(PauseScope.TENANT)
    await clock.advance(1.01)
    assert book.stop_of(one) is Stop.LANE
    board.marks = []
    book.ring()
    await clock.advance(0.21)
    assert book.stop_of(one) is None
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


class Store:
    """An endless queue, whose claim passes nothing over."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.settled: list[Settlement] = []

    async def claim(self, worker_id: UUID, batch_id: UUID, at_most: int) -> Sequence[Claimed]:
        await self._clock.sleep(0.01)
        return [message(self._clock) for _ in range(at_most)]

    async def has_suspects(self) -> bool:
        return False

    async def settle(
        self, worker_id: UUID, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool
    ) -> Set[UUID]:
        self.settled += settlements
        return frozenset()


class Vendor:
    """Slow: a batch takes twenty seconds. Notes when each message went on the wire."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.calls: list[float] = []

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        for index in range(len(messages)):
            await self._clock.sleep(SECONDS_PER_MESSAGE)
            try:
                wire.going(index)
            except Withdrawn:
                gone = Outcome(kind=OutcomeKind.UNREACHABLE)
                return [SENT] * index + [gone] * (len(messages) - index)
            self.calls.append(self._clock.monotonic())
            wire.answered(index, SENT)
        return [SENT] * len(messages)

    async def close(self) -> None: ...


class Composer:
    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed]:
        email = OutgoingEmail("a@waypost.example", ("b@example.com",), b"x")
        return [Composed(claimed=one, email=email, key=SimpleNamespace()) for one in claimed]  # type: ignore[arg-type]


async def let_pass(clock: VirtualClock, seconds: float) -> None:
    """In small steps, so that what a step wakes can sleep again before the next."""
    for _ in range(round(seconds / 0.05)):
        for _ in range(20):
            await asyncio.sleep(0)
        await clock.advance(0.05)


async def test_a_running_worker_makes_no_vendor_call_two_seconds_after_a_pause() -> None:
    """The whole loop of a worker: claim, compose, send, settle, in the middle of batches that take long."""
    clock, board = VirtualClock(), Board()
    book, store, vendor = PauseBook(board=board, clock=clock), Store(clock), Vendor(clock)
    page = SimpleNamespace(going=lambda _: None, answered=lambda *_: None, close=lambda: None)

    async def email(_: str) -> Vendor:
        return vendor

    async def settle(batch_id: UUID, settlements: Sequence[Settlement]) -> bool:
        await store.settle(uuid4(), batch_id, settlements, whole=True)
        return True

    quiet = SimpleNamespace(claimed=lambda *_: None, composed=lambda *_: None, settled=lambda *_: None)
    parts: Any = DispatchParts(
        store=store,  # type: ignore[arg-type]
        gatekeeper=SimpleNamespace(),  # type: ignore[arg-type]
        composer=Composer(),
        senders=SimpleNamespace(email=email),  # type: ignore[arg-type]
        journal=SimpleNamespace(open_page=lambda _: page),  # type: ignore[arg-type]
        ear=SimpleNamespace(),  # type: ignore[arg-type]
        telemetry=quiet,  # type: ignore[arg-type]
        lease=SimpleNamespace(may_start_sending=True, may_begin=lambda _: True, term=1),  # type: ignore[arg-type]
        settler=SimpleNamespace(settle=settle, leave=lambda: None),  # type: ignore[arg-type]
        clock=clock,
        pauses=book,
    )
    dispatcher = Dispatcher(parts, worker_id=uuid4(), batch_size=200, depth=2)
    tasks = [asyncio.create_task(dispatcher.run()), asyncio.create_task(book.keep_fresh())]
    await let_pass(clock, 15)
    assert len(vendor.calls) > 100
    board.pause(PauseScope.TENANT)
    paused_at = clock.monotonic()
    await let_pass(clock, 10)
    assert max(vendor.calls) <= paused_at + 2.0
    given_back = [one for one in store.settled if isinstance(one, Returned)]
    assert len(given_back) > 0
    before = len(vendor.calls)
    board.marks = []
    await let_pass(clock, 2)
    assert len(vendor.calls) > before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
