"""Ways out of sender accounts: opened once, replaced with the account's version, closed when nothing is on them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from tests.plain_account import PLAIN_ACCOUNT

from waypost.bootstrap import account_pool
from waypost.bootstrap.account_pool import GRACE, AccountPool
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason, OutgoingEmail
from waypost.channels.ports import Wire
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Refused
from waypost.kernel.vault import SealBroken
from waypost.senders.connection import AccountConnection
from waypost.senders.model import Account

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
MAIL = OutgoingEmail("a@acme.example", ("b@example.org",), b"hello")
TAKEN = Outcome(kind=OutcomeKind.ACCEPTED)


class NoWire:
    def __init__(self) -> None:
        self.answers: list[Outcome] = []

    def going(self, index: int) -> None: ...

    def answered(self, index: int, outcome: Outcome) -> None:
        self.answers.append(outcome)


@dataclass
class Line:
    """An opened way. `held` keeps a batch on it."""

    connection: AccountConnection
    held: asyncio.Event | None = None
    is_closed: bool = False

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        if self.held is not None:
            await self.held.wait()
        assert not self.is_closed
        return [TAKEN] * len(messages)

    async def close(self) -> None:
        self.is_closed = True


@dataclass
class World:
    """Store, keyring, references and vendors of the pool."""

    accounts: dict[UUID, Account] = field(default_factory=dict[UUID, Account])
    lines: list[Line] = field(default_factory=list[Line])
    trusted: list[bool] = field(default_factory=list[bool])
    seal_is_broken: bool = False
    refusal: Refused | None = None
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(NOON))

    @asynccontextmanager
    async def begin(self, tenant_id: str) -> AsyncIterator[str]:
        yield tenant_id

    async def find(self, tx: str, account_id: UUID) -> Account | None:
        return self.accounts.get(account_id)

    async def of(self, tx: str) -> "World":
        return self

    def open(self, *said: Any, trusted: bool | None = None) -> Any:
        """The seal of a secret, and the way out: two ports, one world."""
        if trusted is None:
            if self.seal_is_broken:
                raise SealBroken
            return b"sesame"
        if self.refusal is not None:
            raise self.refusal
        self.trusted.append(trusted)
        self.lines.append(Line(said[0]))
        return self.lines[-1]

    def read(self, reference: str) -> str:
        raise LookupError

    def add(self, **fields: Any) -> Account:
        account = replace(PLAIN_ACCOUNT, **{"id": uuid4(), "secret": b"sealed"} | fields)
        self.accounts[account.id] = account
        return account

    def pool(self) -> AccountPool:
        me = cast(Any, self)
        return AccountPool(work=me, accounts=me, keyring=me, references=me, vendors=me, clock=self.clock)


@pytest.fixture
def world() -> World:
    return World()


async def test_an_account_is_opened_once_with_its_secret(world: World) -> None:
    account, pool = world.add(), world.pool()
    first, again = [await pool.sender("acme", account.id, 1) for _ in range(2)]
    assert first is again
    assert [line.connection.secret for line in world.lines] == ["sesame"]
    assert world.trusted == [False]
    assert list(await first.send([MAIL], NoWire())) == [TAKEN]


async def test_a_changed_account_gets_a_new_way_and_the_old_one_ends_with_its_last_batch(world: World) -> None:
    account, pool = world.add(), world.pool()
    old = await pool.sender("acme", account.id, 1)
    world.lines[0].held = asyncio.Event()
    batch = asyncio.create_task(old.send([MAIL], NoWire()))
    await asyncio.sleep(0)
    new = await pool.sender("acme", account.id, 2)
    assert new is not old
    await world.clock.advance((GRACE * 2).total_seconds())
    await pool.sender("acme", account.id, 2)
    assert not world.lines[0].is_closed, "a batch is still on it"
    world.lines[0].held.set()
    await batch
    await pool.sender("acme", account.id, 2)
    assert [line.is_closed for line in world.lines] == [True, False]


async def test_a_replaced_way_stays_open_for_whoever_holds_it_a_moment_longer(world: World) -> None:
    account, pool = world.add(), world.pool()
    old = await pool.sender("acme", account.id, 1)
    await pool.sender("acme", account.id, 2)
    assert list(await old.send([MAIL], NoWire())) == [TAKEN]
    await world.clock.advance(GRACE.total_seconds())
    await pool.sender("acme", account.id, 2)
    assert world.lines[0].is_closed


async def test_the_longest_unused_makes_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_pool, "_MOST_OPEN", 2)
    pool, accounts = world.pool(), [world.add() for _ in range(3)]
    for account in accounts:
        await pool.sender("acme", account.id, 1)
        await world.clock.advance(GRACE.total_seconds())
    await pool.sender("acme", accounts[2].id, 1)
    assert [line.is_closed for line in world.lines] == [True, False, False]
    await pool.sender("acme", accounts[0].id, 1)
    assert len(world.lines) == 4


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("secret", OutcomeReason.AUTHENTICATION),
        ("refused", OutcomeReason.CONNECTION),
        ("gone", OutcomeReason.CONNECTION),
    ],
)
async def test_an_account_that_cannot_be_opened_answers_why_and_breaks_nothing(
    world: World, trouble: str, reason: OutcomeReason
) -> None:
    account, pool, wire = world.add(), world.pool(), NoWire()
    world.seal_is_broken = trouble == "secret"
    world.refusal = Refused("The host is not public.", code="x") if trouble == "refused" else None
    sender = await pool.sender("acme", uuid4() if trouble == "gone" else account.id, 1)
    outcomes = await sender.send([MAIL, MAIL], wire)
    assert [(one.kind, one.reason) for one in outcomes] == [(OutcomeKind.UNREACHABLE, reason)] * 2
    assert wire.answers == list(outcomes)
    world.seal_is_broken, world.refusal = False, None
    if trouble != "gone":
        assert list(await (await pool.sender("acme", account.id, 2)).send([MAIL], NoWire())) == [TAKEN]


async def test_the_end_closes_everything(world: World) -> None:
    account, pool = world.add(), world.pool()
    await pool.sender("acme", account.id, 1)
    await pool.sender("acme", account.id, 2)
    await pool.close()
    assert [line.is_closed for line in world.lines] == [True, True]
