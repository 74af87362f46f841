"""Any order of claims, sends, settlements, deaths, rescues and returns from the dead keeps the books.

After every step each notification is in exactly one place: the queue, one worker's hands, or an end. Marketing is never
sent twice, nothing is lost, and in the end everything ends.
"""

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.model import ENDS, Claimed, Settlement, State
from waypost.delivery.rules import DEAD_LETTER_CLAIMS, bury, close, give_back
from waypost.kernel.vocabulary import Category

STEPS = 70


class Hand:
    """A worker and what it knows about the batches it holds: each row's settlement once it has one."""

    def __init__(self, kit: Any) -> None:
        self.kit = kit
        self.dead = False
        self.batches: dict[UUID, dict[UUID, Settlement]] = {}
        self.waiting: dict[UUID, list[Claimed]] = {}


class World:
    def __init__(self, office: Any, chance: random.Random) -> None:
        self.office = office
        self.chance = chance
        self.sent: Counter[UUID] = Counter()
        self.cancelled: set[UUID] = set()
        self.hands: list[Hand] = []

    async def open(self) -> None:
        self.letters = await self.office.submit(8)
        self.adverts = await self.office.submit(8, category=Category.MARKETING)
        self.all = [*self.letters, *self.adverts]
        for _ in range(3):
            await self.hire()

    async def hire(self) -> Hand:
        hand = Hand(await self.office.worker())
        self.hands.append(hand)
        return hand

    def alive(self) -> list[Hand]:
        return [hand for hand in self.hands if not hand.dead]

    async def claim(self) -> None:
        hand = self.chance.choice(self.alive())
        await hand.kit.sign_on()
        batch_id, claimed = await hand.kit.claim(self.chance.randint(1, 6))
        if not claimed and (suspect := await hand.kit.store.claim_suspect(hand.kit.id, batch_id)):
            claimed = [suspect]
        if claimed:
            hand.batches[batch_id] = {}
            hand.waiting[batch_id] = list(claimed)

    def send(self, hand: Hand | None = None) -> None:
        hand = hand or self.chance.choice(self.alive())
        for batch_id, rows in hand.waiting.items():
            for row in rows:
                hand.batches[batch_id][row.id] = self.judge(row)
            rows.clear()

    def judge(self, row: Claimed) -> Settlement:
        now = datetime.now(UTC)
        if row.claims >= DEAD_LETTER_CLAIMS:
            return bury(row)
        kind = self.chance.choice([*OutcomeKind, OutcomeKind.ACCEPTED, None])
        if kind is None:
            return give_back(row, now, blamed=False)
        if kind is OutcomeKind.ACCEPTED or (kind is OutcomeKind.IN_DOUBT and self.chance.random() < 0.5):
            self.sent[row.id] += 1
        reason = None if kind is OutcomeKind.ACCEPTED else OutcomeReason.CONNECTION
        return close(row, Outcome(kind=kind, reason=reason), now, lambda: 0.0)

    async def settle(self, hand: Hand | None = None) -> None:
        hand = hand or self.chance.choice(self.alive())
        for batch_id, known in list(hand.batches.items()):
            if known and not hand.waiting[batch_id]:
                await hand.kit.store.settle(hand.kit.id, batch_id, list(known.values()), whole=True)
                if self.chance.random() < 0.8:  # else: the answer was lost, and it will settle again
                    del hand.batches[batch_id], hand.waiting[batch_id]

    async def lose_sight(self) -> None:
        """A worker's lease runs out: it may be dead, or only slow, and come back with what it knows."""
        hand = self.chance.choice(self.alive())
        await self.office.expire_lease(hand.kit.id)
        if self.chance.random() < 0.5:
            self.send(hand)
            if self.chance.random() < 0.5:
                hand.dead = True
                await self.hire()
        else:
            for batch_id, rows in hand.waiting.items():
                for row in rows:
                    hand.batches[batch_id][row.id] = give_back(row, datetime.now(UTC), blamed=False)
                rows.clear()

    async def rescue(self) -> None:
        kit = self.chance.choice(self.alive()).kit
        rows = await self.office.admin.fetch("select id from workers where lease_until < now()")

        async def lost(_: float) -> list[UUID]:
            return [row["id"] for row in rows]

        kit.leases.lost = lost
        await kit.rescue().by_leases()

    async def cancel(self) -> None:
        async with self.office.api_work.begin("acme") as tx:
            self.cancelled |= await self.office.delivery.cancel(tx, [self.chance.choice(self.all)])

    async def time_passes(self) -> None:
        await self.office.admin.execute(
            "update queue set due = now(); update lanes set due = now(), head = '-infinity' where due < 'infinity'"
        )

    async def check(self) -> None:
        states = await self.office.states(self.all)
        queued = {row["id"] for row in await self.office.admin.fetch("select id from queue")}
        open_rows = await self.office.admin.fetch("select notification_id from attempts where outcome is null")
        opened = Counter(row["notification_id"] for row in open_rows)
        for one in self.all:
            ended = states[one] in ENDS
            places = (one in queued, opened[one] == 1, ended)
            assert places.count(True) == 1, (one, states[one], places)
            assert opened[one] <= 1
        assert all(self.sent[one] <= 1 for one in self.adverts)
        assert all(states[one] is State.CANCELLED for one in self.cancelled)

    async def finish(self) -> None:
        """Everyone slow comes back, the dead are taken over, and calm workers send what is left."""
        for hand in self.alive():
            self.send(hand)
            await hand.kit.sign_on()
            for _ in range(4):
                await self.settle(hand)
        for hand in self.hands:
            if hand.dead:
                await self.office.expire_lease(hand.kit.id)
        await self.rescue()
        calm = Hand(await self.office.worker())
        for _ in range(200):
            await self.time_passes()
            batch_id, claimed = await calm.kit.claim(50)
            if not claimed and (suspect := await calm.kit.store.claim_suspect(calm.kit.id, batch_id)):
                claimed = [suspect]
            if not claimed:
                break
            accepted = Outcome(kind=OutcomeKind.ACCEPTED)
            settlements = [close(one, accepted, datetime.now(UTC), lambda: 0.0) for one in claimed]
            self.sent.update(one.id for one in claimed)
            await calm.kit.store.settle(calm.kit.id, batch_id, settlements, whole=True)


@pytest.mark.parametrize("seed", range(6))
async def test_every_interleaving_keeps_the_books(office: Any, seed: int) -> None:
    chance = random.Random(seed)
    world = World(office, chance)
    await world.open()
    steps: list[Callable[[], Any]] = [
        world.claim,
        world.claim,
        world.send,
        world.settle,
        world.settle,
        world.lose_sight,
        world.rescue,
        world.time_passes,
        world.cancel,
    ]
    weights = [4, 4, 5, 5, 3, 2, 3, 3, 1]
    for _ in range(STEPS):
        done = chance.choices(steps, weights)[0]()
        if done is not None:
            await done
        await world.check()
    await world.finish()
    await world.check()
    states = await office.states(world.all)
    assert set(states.values()) <= ENDS
    assert await office.count("claims") == await office.count("queue") == 0
    dispatched = [one for one, state in states.items() if state is State.DISPATCHED]
    assert all(world.sent[one] >= 1 for one in dispatched)
