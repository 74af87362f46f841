"""Calls that come while another is being stored go together, and none of them notices."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence, Set
from contextlib import asynccontextmanager
from typing import Any

import pytest

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Refused, Unavailable, refuse
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.notifications.together import Asked, Together
from waypost.recipients.model import RecipientFields, Target
from waypost.tenants.idempotency import KeyedCall
from waypost.tenants.model import StoredAnswer

CLOCK = VirtualClock()
SCOPE = Scope(
    tenant_id="acme",
    mode=TenantMode.LIVE,
    key_id=mint(CLOCK),
    key_tenant="acme",
    permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
    request_id="rid_1",
)


class House:
    """Counts transactions; `tears` at commit or before; knows which keys are used."""

    def __init__(self) -> None:
        self.stored: list[list[str]] = []
        self.alone: list[str] = []
        self.used: set[str] = set()
        self.kept: dict[str, bytes] = {}
        self.begun = 0
        self.went_on: list[bool] = []
        self.fails_in: Exception | None = None
        self.fails_at_commit: Exception | None = None
        self.clock = VirtualClock()
        self.door = asyncio.Event()
        self.held: asyncio.Event | None = None
        self.together = Together(work=self, submit=self, idempotency=self, clock=self.clock)  # pyright: ignore

    @asynccontextmanager
    async def begin(
        self, tenant_id: str, *, waits: bool, goes_on: Callable[[], bool] | None = None
    ) -> AsyncIterator[Transaction]:
        assert not waits
        assert goes_on is not None
        self.begun += 1
        if self.held is not None:
            await self.held.wait()
        yield Transaction(tenant_id)
        self.went_on.append(goes_on())
        if self.fails_at_commit:
            raise self.fails_at_commit

    async def each(
        self, _tx: Transaction, asked: Sequence[tuple[Scope, SubmitCommand]]
    ) -> Sequence[Accepted | Refused]:
        if self.fails_in:
            raise self.fails_in
        self.stored.append([_name(command) for _, command in asked])
        return [
            refuse("/to", "bad", "No.")
            if _name(command) == "bad"
            else Accepted(request_id=mint(CLOCK), notifications=())
            for _, command in asked
        ]

    async def keep_new(
        self, _tx: Transaction, _route: str, answered: Sequence[tuple[KeyedCall, StoredAnswer]]
    ) -> Set[str]:
        self.kept |= {call.key: answer.body for call, answer in answered if call.key not in self.used}
        return {call.key for call, _ in answered} & self.used

    async def used_among(self, _tx: Transaction, keys: Sequence[str]) -> Set[str]:
        return set(keys) & self.used

    def call(self, name: str, *, key: str | None = None, to: int = 1, fields: RecipientFields | None = None) -> Any:
        targets = tuple(Target(id=name, fields=fields or RecipientFields()) for _ in range(to))
        asked = Asked(
            scope=SCOPE,
            command=SubmitCommand(to=targets),
            route="POST /x",
            call=None if key is None else KeyedCall(key=key, fingerprint=b""),
            form=lambda accepted: StoredAnswer(status=202, body=f"{name} {accepted.request_id}".encode()),
        )
        return asyncio.create_task(_told(self.together, self._alone(name), asked))

    def _alone(self, name: str) -> Callable[[], Any]:
        async def go() -> str:
            self.alone.append(name)
            if name == "first":
                await self.door.wait()
            return f"{name} alone"

        return go

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


async def _told(together: Together, alone: Callable[[], Any], asked: Asked) -> str | StoredAnswer:
    return await together("acme", alone, lambda: asked)


def _name(command: SubmitCommand) -> str:
    return command.to[0].id or ""


@pytest.fixture
async def house() -> House:
    return House()


async def _behind_a_first(house: House, *calls: Callable[[], Any]) -> list[Any]:
    first = house.call("first")
    await house.settle()
    behind = [call() for call in calls]
    await house.settle()
    house.door.set()
    assert await first == "first alone"
    return await asyncio.gather(*behind, return_exceptions=True)


async def test_whom_nobody_is_ahead_of_goes_alone_and_at_once(house: House) -> None:
    assert [await house.call(name) for name in ("a", "b")] == ["a alone", "b alone"]
    assert house.stored == []


async def test_those_behind_go_together_and_each_has_its_own_answer(house: House) -> None:
    told = await _behind_a_first(house, *(lambda name=name: house.call(name, key=name) for name in ("a", "bad", "b")))
    assert house.stored == [["a", "bad", "b"]]
    assert house.alone == ["first"]
    assert isinstance(told[1], Refused)
    assert {key: body.split()[0] for key, body in house.kept.items()} == {"a": b"a", "b": b"b"}
    assert told[0].body == house.kept["a"] != told[2].body == house.kept["b"]
    assert await house.call("later") == "later alone"


async def test_what_cannot_be_stored_together_is_stored_alone(house: House) -> None:
    house.fails_in = Unavailable("locked")
    told = await _behind_a_first(house, lambda: house.call("a"), lambda: house.call("b"))
    assert told == ["a alone", "b alone"]


async def test_where_the_commit_is_in_doubt_nobody_tries_again(house: House) -> None:
    house.fails_at_commit = Unavailable("lost")
    told = await _behind_a_first(house, lambda: house.call("a"), lambda: house.call("b"))
    assert [type(answer) for answer in told] == [Unavailable, Unavailable]
    assert house.alone == ["first"]


async def test_a_used_key_and_a_twin_are_looked_at_alone(house: House) -> None:
    house.used = {"old"}
    told = await _behind_a_first(
        house,
        lambda: house.call("a", key="old"),
        lambda: house.call("b", key="new"),
        lambda: house.call("c", key="new"),
    )
    assert (told[0], told[2], house.stored) == ("a alone", "c alone", [["a", "b"], ["b"]])


async def test_a_key_that_came_before_spoils_no_group(house: House) -> None:
    await _behind_a_first(house, lambda: house.call("a", key="k"))
    house.door.clear()
    told = await _behind_a_first(house, lambda: house.call("again", key="k"), lambda: house.call("b", key="new"))
    assert (told[0], house.stored) == ("again alone", [["a"], ["b"]])


async def test_what_is_no_key_is_looked_at_alone(house: House) -> None:
    told = await _behind_a_first(house, lambda: house.call("a", key="\x00"), lambda: house.call("b"))
    assert (told[0], house.stored) == ("a alone", [["b"]])


async def test_what_is_refused_now_but_was_used_before_is_looked_at_alone(house: House) -> None:
    house.used = {"old"}
    told = await _behind_a_first(house, lambda: house.call("bad", key="old"), lambda: house.call("b", key="new"))
    assert (told[0], house.stored, set(house.kept)) == ("bad alone", [["bad", "b"]], {"new"})


async def test_contradictions_about_somebody_count_in_turn(house: House) -> None:
    said = [RecipientFields(locale="de"), RecipientFields(locale="fr")]
    await _behind_a_first(house, *(lambda fields=fields: house.call("a", fields=fields) for fields in said))
    assert house.stored == [["a"], ["a"]]


async def test_a_large_call_keeps_nobody_waiting(house: House) -> None:
    first = house.call("first")
    await house.settle()
    assert await house.call("large", to=11) == "large alone"
    house.door.set()
    await first


async def test_nobody_waits_long_behind_one_that_waits(house: House) -> None:
    first = house.call("first")
    await house.settle()
    behind = house.call("a"), house.call("b")
    await house.settle()
    assert not any(one.done() for one in behind)
    await house.clock.advance(0.03)
    await asyncio.gather(*behind)
    assert (house.stored, first.done()) == ([["a", "b"]], False)
    house.door.set()
    assert await first == "first alone"
    assert await house.call("later") == "later alone"


async def test_the_more_are_under_way_the_longer_the_next_wait(house: House) -> None:
    first = house.call("first")
    await house.settle()
    house.held = asyncio.Event()
    behind = [house.call("a")]
    await house.settle()
    await house.clock.advance(0.015)
    behind.append(house.call("b"))
    await house.settle()
    await house.clock.advance(0.0299)
    behind.append(house.call("c"))
    await house.settle()
    assert house.begun == 1
    await house.clock.advance(0.0001)
    behind.append(house.call("d"))
    await house.settle()
    await house.clock.advance(0.0599)
    assert house.begun == 2
    await house.clock.advance(0.0001)
    await house.settle()
    assert house.begun == 3
    house.held.set()
    house.door.set()
    await asyncio.gather(first, *behind)
    assert sorted(house.stored) == [["a"], ["b", "c"], ["d"]]
    assert await house.call("later") == "later alone"


async def test_whoever_hangs_up_meanwhile_is_left_out(house: House) -> None:
    first = house.call("first")
    await house.settle()
    gone, stays = house.call("gone"), house.call("stays")
    await house.settle()
    gone.cancel()
    await house.settle()
    house.door.set()
    await asyncio.gather(first, stays)
    assert house.stored == [["stays"]]


async def test_groups_that_follow_each_other_set_off_some_milliseconds_apart(house: House) -> None:
    first = house.call("first")
    await house.settle()
    behind = house.call("a")
    await house.settle()
    house.held = asyncio.Event()
    house.door.set()
    await first
    next_ones = [house.call("b")]
    await house.settle()
    house.held.set()
    await behind
    await house.settle()
    assert house.stored == [["a"]]
    next_ones.append(house.call("c"))
    await house.clock.advance(0.01)
    await asyncio.gather(*next_ones)
    assert house.stored == [["a"], ["b", "c"]]
    assert house.went_on == [True, False], "a transaction is told whether another follows"
    assert await house.call("later") == "later alone"
