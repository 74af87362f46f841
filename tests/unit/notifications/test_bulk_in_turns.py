"""Of a bulk one batch is stored while the next is decided, and nobody can tell."""

import asyncio
import gc
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, Refused, Unavailable, refuse
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.uncollected import uncollected
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.notifications.bulk import BulkItem, SubmitBulk
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.notifications.ports import Decided
from waypost.recipients.model import Target
from waypost.recipients.resolve import Foreseen
from waypost.tenants.idempotency import KeyedCall

CLOCK = VirtualClock()
SCOPE = Scope(
    tenant_id="acme",
    mode=TenantMode.LIVE,
    key_id=mint(CLOCK),
    key_tenant="acme",
    permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
    request_id="rid_1",
)
ACCEPTED = Accepted(request_id=mint(CLOCK), notifications=())


class House:
    """Refuses whoever is called `bad`; writes down what happens, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.foreseen: list[str] = []
        self.claimed: dict[str, bytes] = {}
        self.released: list[str] = []
        self.noted = 0
        self.store_fails: Exception | None = None
        self.decide_fails: Exception | None = None
        self.claim_fails: Exception | None = None
        self.has_failed = False
        self.storing = 0
        self.door: asyncio.Event | None = None
        self.bulk = SubmitBulk(submit=self, store=self, idempotency=self, clock=CLOCK)  # pyright: ignore

    async def decide(
        self,
        _tx: Transaction,
        _scope: Scope,
        commands: Sequence[SubmitCommand],
        *,
        part_of: UUID | None = None,
        before: Decided | None = None,
        foreseen: Foreseen | None = None,
    ) -> Decided:
        names = [str(command.to[0].id) for command in commands]
        self.seen.append(f"decide {names[0]}")
        if foreseen is not None:
            assert foreseen.ids.issuperset(names)
            self.foreseen.append(names[0])
        await asyncio.sleep(0)
        if self.door is not None and names[0] == "user-500":
            self.door.set()
        comes_of_another = self.store_fails is not None or self.claim_fails is not None
        if self.decide_fails is not None and (self.has_failed if comes_of_another else len(self.seen) > 1):
            raise self.decide_fails

        async def store() -> Sequence[Accepted | Refused]:
            self.storing += 1
            assert self.storing == 1
            self.seen.append(f"store {names[0]}")
            if self.door is not None:
                await self.door.wait()
            await asyncio.sleep(0)
            if self.store_fails is not None:
                self.has_failed = True
                raise self.store_fails
            self.storing -= 1
            return [refuse("/to", "bad", name) if name.startswith("bad") else ACCEPTED for name in names]

        changed = any(name.startswith("new") for name in names)
        return Decided(refused=[name.startswith("bad") for name in names], changed=changed, store=store)

    async def foresee(self, _tx: Transaction, commands: Sequence[SubmitCommand]) -> Foreseen:
        await asyncio.sleep(0)
        return Foreseen(ids=frozenset(str(command.to[0].id) for command in commands), known=())

    async def claim_many(self, _tx: Transaction, _route: str, calls: Sequence[KeyedCall]) -> Sequence[bool]:
        if self.claim_fails is not None and self.seen:
            self.has_failed = True
            raise self.claim_fails
        for call in calls:
            self.claimed.setdefault(call.key, call.fingerprint)
        return [self.claimed[call.key] == call.fingerprint for call in calls]

    async def release_many(self, _tx: Transaction, _route: str, calls: Sequence[KeyedCall]) -> None:
        for call in calls:
            del self.claimed[call.key]
            self.released.append(call.key)

    async def add_request(self, *_args: Any) -> None:
        self.noted += 1

    async def send(self, names: Sequence[str], keys: Sequence[str] = ()) -> list[Accepted | Refused]:
        items = [
            BulkItem(command=SubmitCommand(to=(Target(id=name),)), call=KeyedCall(key=key, fingerprint=name.encode()))
            for name, key in zip(names, keys or names, strict=True)
        ]
        slices = [items[start : start + 250] for start in range(0, len(items), 250)]
        told = await self.bulk(Transaction("acme"), SCOPE, slices, len(items), lambda _, answer: answer)
        return list(told.answers)


async def test_the_next_batch_is_decided_while_one_is_stored_and_every_answer_finds_its_place() -> None:
    house = House()
    house.door = asyncio.Event()
    names = [f"bad-{number}" if number % 7 == 5 else f"user-{number}" for number in range(1_200)]
    async with asyncio.timeout(60):
        answers = await house.send(names)
    assert [isinstance(answer, Refused) for answer in answers] == [name.startswith("bad") for name in names]
    assert [answer.detail for answer in answers if isinstance(answer, Refused)] == house.released
    assert house.seen.index("decide user-500") < house.seen.index("store user-500")
    assert [word for word in house.seen if word.startswith("store")] == [
        "store user-0",
        "store bad-250",
        "store user-500",
        "store user-1000",
    ]
    assert house.noted == 1


async def test_what_was_foreseen_counts_only_while_nobody_changes() -> None:
    house = House()
    names = [f"user-{number}" for number in range(2_000)]
    await house.send(names)
    first = [word.removeprefix("decide ") for word in house.seen if word.startswith("decide")]
    assert house.foreseen == first

    house = House()
    names[300] = "new-300"
    await house.send(names)
    decided = [word.removeprefix("decide ") for word in house.seen if word.startswith("decide")]
    of_the_change = max(place for place, name in enumerate(decided) if int(name.partition("-")[2]) <= 300)
    assert decided[of_the_change + 1] not in house.foreseen, "it was looked up before the change, or while it was made"
    assert decided[-1] in house.foreseen, "and from then on nobody has changed again"


async def test_what_failed_first_is_told_and_not_what_came_of_it() -> None:
    house = House()
    house.store_fails, house.decide_fails = Unavailable("The database is busy."), RuntimeError("aborted")
    with pytest.raises(Unavailable):
        await house.send([f"user-{number}" for number in range(1_200)])


async def test_a_failure_of_the_reading_is_told_before_what_came_of_it() -> None:
    house = House()
    house.claim_fails, house.decide_fails = Conflict("A twin is in flight."), RuntimeError("aborted")
    with pytest.raises(Conflict):
        await house.send([f"user-{number}" for number in range(1_200)])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_key_of_a_refused_item_serves_one_that_was_read_before_the_refusal() -> None:
    house = House()
    names = ["bad-0", *(f"user-{number}" for number in range(1, 700))]
    answers = await house.send(names, ["shared", *names[1:600], "shared", *names[601:]])
    assert [number for number, answer in enumerate(answers) if isinstance(answer, Refused)] == [0]
    assert house.claimed["shared"] == b"user-600"


async def test_a_key_that_an_accepted_item_holds_is_refused_to_another() -> None:
    house = House()
    names = [f"user-{number}" for number in range(700)]
    answers = await house.send(names, ["shared", *names[1:600], "shared", *names[601:]])
    assert [(number, answer.code) for number, answer in enumerate(answers) if isinstance(answer, Refused)] == [
        (600, "idempotency_key_reused")
    ]


async def test_where_deciding_fails_nothing_is_left_running() -> None:
    house = House()
    house.door, house.decide_fails = asyncio.Event(), Unavailable("The database is busy.")
    with pytest.raises(Unavailable):
        await house.send([f"user-{number}" for number in range(1_200)])
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_rings_are_looked_for_again_once_the_last_is_done() -> None:
    assert gc.isenabled()
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
