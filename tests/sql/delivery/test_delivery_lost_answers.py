"""The database did what was asked, and the answer was lost: nothing stays behind with a worker that knows nothing."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.ports import Wire
from waypost.delivery.model import State
from waypost.delivery.ports import SettleRefused
from waypost.delivery.strays import Strays
from waypost.delivery.upkeep import Upkeep
from waypost.delivery.worker import Worker
from waypost.kernel.errors import Unavailable
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Category

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED, code=250, latency_ms=3)


class Vendor:
    def __init__(self) -> None:
        self.sent: list[bytes] = []

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        for index, message in enumerate(messages):
            wire.going(index)
            self.sent.append(message.data)
            wire.answered(index, ACCEPTED)
        return [ACCEPTED] * len(messages)

    async def close(self) -> None: ...


class DeafOnce:
    """Loses the answer to the first call of `name`, after it has been committed."""

    def __init__(self, store: Any, name: str) -> None:
        self._store = store
        self._name = name
        self.lost = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if name != self._name or self.lost:
            return real

        async def deaf(*arguments: Any, **options: Any) -> Any:
            await real(*arguments, **options)
            self.lost = True
            raise Unavailable("The connection to the database was lost.")

        return deaf


def strays_of(kit: Any, in_hand: set[UUID]) -> Strays:
    return Strays(workers=kit.leases, settler=kit.settler, clock=kit.clock, worker_id=kit.id, in_hand=in_hand)


@pytest.mark.parametrize(("name", "claims"), [("claim", 0), ("claim_suspect", 2)])
async def test_a_claim_whose_answer_was_lost_is_given_back_and_sent_once(office: Any, name: str, claims: int) -> None:
    ids = await office.submit(5, category=Category.MARKETING, claims=claims)
    kit, vendor = await office.worker(), Vendor()
    store = DeafOnce(kit.store, name)
    dispatcher = kit.dispatcher(office, vendor, store=store)
    async with office.running(dispatcher):

        async def all_sent() -> bool:
            if store.lost:
                await strays_of(kit, dispatcher.in_hand).give_back()
            return set((await office.states(ids)).values()) == {State.DISPATCHED}

        await office.until(all_sent)
    assert sorted(vendor.sent) == sorted(one.bytes for one in ids)
    assert await office.count("claims") == 0
    assert await office.count("attempts", "n <> 1") == 0


async def test_what_is_in_hand_is_left_alone(office: Any) -> None:
    await office.submit(3)
    kit = await office.worker()
    batch_id, _ = await kit.claim()
    assert await strays_of(kit, {batch_id}).give_back() == 0
    assert await office.count("attempts", "outcome is null") == 3
    assert await strays_of(kit, {mint(kit.clock)}).give_back() == 3
    assert await office.count("queue", "claims = 0") == 3


async def test_a_batch_that_could_not_be_settled_stays_in_hand(office: Any) -> None:
    """It was sent: given back it would be sent again."""

    class Refusing:
        async def settle(self, *_: Any, **__: Any) -> Any:
            raise SettleRefused

    await office.submit(1)
    kit, vendor = await office.worker(), Vendor()
    settler = type(kit.settler)(store=Refusing(), clock=kit.clock, worker_id=kit.id)
    dispatcher = kit.dispatcher(office, vendor, settler=settler)
    async with office.running(dispatcher):

        async def sent() -> bool:
            return len(vendor.sent) == 1

        await office.until(sent)
    assert await strays_of(kit, dispatcher.in_hand).give_back() == 0
    assert await office.count("attempts", "outcome is null") == 1


async def test_a_worker_that_stops_before_it_knew_of_its_claim_leaves_its_journal(office: Any, tmp_path: Path) -> None:
    ids = await office.submit(4, category=Category.MARKETING)
    kit, heir = await office.worker(), await office.worker()
    journal = JournalFile(tmp_path, kit.id, slots=8)
    dispatcher = kit.dispatcher(office, Vendor(), store=DeafOnce(kit.store, "claim"), journal=journal)
    worker = Worker(
        dispatcher=dispatcher,
        lease=kit.lease,
        upkeep=Upkeep(store=kit.upkeep, rescue=kit.rescue(), clock=kit.clock),
        journal=journal,
    )
    running = asyncio.create_task(worker.run())

    async def claimed() -> bool:
        return await office.count("claims") == 1

    await office.until(claimed)
    await worker.stop(1.0)
    await running
    assert await office.count("claims") == 1
    assert await heir.rescue(shelf=Shelf(tmp_path)).by_journals() == 4
    assert set((await office.states(ids)).values()) == {State.QUEUED}


class Journal:
    """An abandoned journal that counts who holds it."""

    can_be_trusted = True

    def __init__(self, worker_id: UUID) -> None:
        self.worker_id = worker_id
        self.is_held = True

    def mark_of(self, _: Any) -> None:
        return None

    def discard(self) -> None:
        self.is_held = False

    leave = discard


async def test_a_rescue_that_is_cut_short_lets_go_of_every_journal(office: Any, monkeypatch: Any) -> None:
    """A lock kept by mistake would hide the journal from every later rescue, and make all its rows doubtful."""
    kit = await office.worker()
    journals = [Journal(mint(kit.clock)) for _ in range(2)]

    class Shelf:
        def abandoned(self) -> list[Journal]:
            return journals

    async def away(_: UUID) -> Any:
        raise Unavailable("The database is away.")

    monkeypatch.setattr(kit.leases, "holds", away)
    with pytest.raises(Unavailable):
        await kit.rescue(shelf=Shelf()).by_journals()
    assert not any(journal.is_held for journal in journals)


async def test_nobody_is_judged_by_a_lease_while_somebody_reads_their_journal(
    office: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """On a slow host the lease may run out before the journal has been read to its end."""
    await office.submit(3, category=Category.MARKETING)
    dead, reader, hasty = [await office.worker() for _ in range(3)]
    journal = JournalFile(tmp_path, dead.id, slots=8)
    await dead.claim()
    journal._memory.close()  # as the kernel does for a killed process
    os.close(journal._file)
    await office.expire_lease(dead.id)

    async def lost(_: float) -> list[UUID]:
        return [dead.id]

    monkeypatch.setattr(hasty.leases, "lost", lost)
    [taken] = Shelf(tmp_path).abandoned()
    assert await hasty.rescue(shelf=Shelf(tmp_path)).rescue() == 0
    assert await office.count("attempts", "outcome is null") == 3
    taken.leave()
    assert await reader.rescue(shelf=Shelf(tmp_path)).rescue() == 3
    assert await office.count("attempts") == 0
    assert await office.count("queue") == 3


async def test_a_claim_committed_after_its_worker_was_taken_up_is_still_judged_by_the_journal(
    office: Any, tmp_path: Path
) -> None:
    """The server goes on with the last statement of a client that is dead."""
    ids = await office.submit(3, category=Category.MARKETING)
    dead, heir = await office.worker(), await office.worker()
    journal = JournalFile(tmp_path, dead.id, slots=8)
    journal._memory.close()  # as the kernel does for a killed process
    os.close(journal._file)
    rescue = heir.rescue(shelf=Shelf(tmp_path))
    assert await rescue.by_journals() == 0
    await dead.claim()
    assert await rescue.by_journals() == 3
    assert set((await office.states(ids)).values()) == {State.QUEUED}
    await office.expire_lease(dead.id)
    assert await rescue.rescue() == 0
    assert Shelf(tmp_path).abandoned() == []
    assert await office.count("workers") == 1
