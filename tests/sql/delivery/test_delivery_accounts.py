"""The road of messages that leave by sender accounts: room, the right sender, counts, thresholds, rescue."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.plain_account import PLAIN_ACCOUNT

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.sender_capacity import PgSenderCapacity
from waypost.adapters.postgres.senders import PgSenderAccounts, PgSenderBoard
from waypost.bootstrap.inputs import inputs_of
from waypost.bootstrap.sender_accounts import AccountOutbox
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason, OutgoingEmail
from waypost.channels.ports import EmailSender, Wire
from waypost.delivery.dispatch import Dispatcher
from waypost.delivery.model import State, Way
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Category
from waypost.notifications.reserving import SenderCapacity
from waypost.senders.aftermath import Aftermath
from waypost.senders.desk import Desk
from waypost.senders.model import Account, AccountStatus
from waypost.senders.stopping import Stopping

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED)
SLOW_DOWN = Outcome(kind=OutcomeKind.DEFERRED, reason=OutcomeReason.SLOW_DOWN, code=421)
SHUT_OUT = Outcome(kind=OutcomeKind.UNREACHABLE, reason=OutcomeReason.AUTHENTICATION, code=535)
REFUSED = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, code=550)


class OpenKeyring:
    """Whose seals hold nothing back: every message is to the same mailbox."""

    async def of(self, tx: Any) -> "OpenKeyring":
        return self

    def unwrap(self, wrapped: bytes, bound_to: str) -> "OpenKeyring":
        return self

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        return msgspec.msgpack.encode({"address": "somebody@gmail.com", "context": {}})


@dataclass
class OneAnswer:
    outcome: Outcome
    sent: list[bytes] = field(default_factory=list[bytes])

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        for index, message in enumerate(messages):
            wire.going(index)
            self.sent.append(message.data)
            wire.answered(index, self.outcome)
        return [self.outcome] * len(messages)

    async def close(self) -> None: ...


@dataclass
class Ways:
    """The installation's own way, and one for all accounts."""

    own: OneAnswer
    account: OneAnswer
    asked: set[UUID] = field(default_factory=set[UUID])

    async def email(self, tenant_id: str) -> EmailSender:
        return self.own

    async def by_account(self, tenant_id: str, way: Way) -> EmailSender:
        self.asked.add(way.account_id)
        return self.account


class Heard:
    def __init__(self) -> None:
        self.stopped_accounts: list[tuple[UUID, AccountStatus]] = []

    async def stopped(self, tx: Any, account_id: UUID, status: AccountStatus, facts: Any) -> None:
        self.stopped_accounts.append((account_id, status))

    async def running(self, tx: Any, account_id: UUID) -> None: ...


@dataclass
class Road:
    office: Any
    news: Heard = field(default_factory=Heard)
    accounts: PgSenderAccounts = field(default_factory=PgSenderAccounts)

    async def account(self, *, tenant: str = "acme", **fields: Any) -> Account:
        now = self.office.clock.now()
        account = replace(
            PLAIN_ACCOUNT,
            id=mint(self.office.clock),
            display_name="Acme",
            status_at=now,
            created_at=now,
            updated_at=now,
            **fields,
        )
        async with self.office.api_work.begin(tenant) as tx:
            assert await self.accounts.add(tx, account)
        return account

    def capacity(self) -> SenderCapacity:
        work, clock, counts = self.office.worker_work, self.office.clock, PgSenderCapacity()
        stopping = Stopping(
            store=self.accounts,
            events=AccountOutbox(PgOutbox()),
            audit=PgAuditStore(),
            news=self.news,
            clock=clock,
        )
        return SenderCapacity(
            desk=Desk(work=work, accounts=self.accounts, capacity=counts, board=PgSenderBoard(work), clock=clock),
            aftermath=Aftermath(work=work, capacity=counts, stopping=stopping, clock=clock),
            work=work,
            keyring=OpenKeyring(),  # type: ignore[arg-type]
            inputs=inputs_of(OpenKeyring(), clock),  # type: ignore[arg-type]
        )

    async def dispatcher(self, ways: Ways, **options: Any) -> Dispatcher:
        kit = await self.office.worker()
        return kit.dispatcher(self.office, ways.own, senders=ways, capacity=self.capacity(), **options)

    async def counted(self, account: Account) -> dict[str, int]:
        row = await self.office.admin.fetchrow(
            "select reserved, sent, bounced, errors, deferred from sender_days where account_id = $1", account.id
        )
        return dict(row)


@pytest.fixture
def road(office: Any) -> Road:
    return Road(office)


async def test_a_tenant_with_an_account_leaves_by_it_and_others_as_before(road: Road) -> None:
    office = road.office
    await office.make_tenant("globex")
    account = await road.account(daily_limit=100)
    ids, others = await office.submit(5), await office.submit(3, tenant="globex")
    ways = Ways(OneAnswer(ACCEPTED), OneAnswer(ACCEPTED))
    async with office.running(await road.dispatcher(ways)):
        await office.until(lambda: _settled(office, 8))
    assert {one.hex() for one in ways.account.sent} == {one.bytes.hex() for one in ids}
    assert len(ways.own.sent) == 3
    assert ways.asked == {account.id}
    assert await road.counted(account) == {"reserved": 5, "sent": 5, "bounced": 0, "errors": 0, "deferred": 0}
    async with office.api_work.begin("acme") as tx:
        [attempt] = await office.delivery.attempts(tx, ids[0])
        timeline = await office.delivery.timeline(tx, ids[0])
    assert attempt.account_id == account.id
    assert all(entry.detail["sender_account"].startswith("acc_") for entry in timeline)
    async with office.api_work.begin("globex") as tx:
        assert [one.account_id for one in await office.delivery.attempts(tx, others[0])] == [None]
    assert await office.count("sender_reservations") == 0


async def test_what_has_no_room_waits_with_a_word_and_burns_no_attempt(road: Road) -> None:
    office = road.office
    account = await road.account(daily_limit=2)
    ids = await office.submit(5)
    ways = Ways(OneAnswer(ACCEPTED), OneAnswer(ACCEPTED))
    async with office.running(await road.dispatcher(ways)):
        await office.until(lambda: _settled(office, 2))
        await office.until(lambda: _queued(office, 3))
    assert len(ways.account.sent) == 2
    assert ways.own.sent == []
    assert await office.count("attempts") == 2
    waiting = [one for one, state in (await office.states(ids)).items() if state is State.QUEUED]
    async with office.api_work.begin("acme") as tx:
        [entry] = await office.delivery.timeline(tx, waiting[0])
    assert (entry.event, entry.reason) == ("deferred", "sender_limit")
    assert entry.detail["rule"] == "sender_limit"
    assert entry.detail["sender_account"].startswith("acc_")
    assert await office.count("queue", "attempt = 0 and due >= date_trunc('day', now(), 'UTC') + interval '1 day'") == 3
    assert (await road.counted(account))["reserved"] == 2


async def test_two_workers_share_a_limit_and_never_pass_it(road: Road) -> None:
    office = road.office
    account = await road.account(daily_limit=37)
    await office.submit(60)
    ways = Ways(OneAnswer(ACCEPTED), OneAnswer(ACCEPTED))
    first, second = [await road.dispatcher(ways, batch_size=5) for _ in range(2)]
    async with office.running(first), office.running(second):
        await office.until(lambda: _settled(office, 37), 60)
        await office.until(lambda: _queued(office, 23), 60)
    assert len(ways.account.sent) == 37
    assert (await road.counted(account))["sent"] == 37


async def test_a_server_that_shuts_an_account_out_suspends_it_at_once(road: Road) -> None:
    office = road.office
    account = await road.account(daily_limit=50)
    await office.submit(3)
    async with office.running(await road.dispatcher(Ways(OneAnswer(ACCEPTED), OneAnswer(SHUT_OUT)))):
        await office.until(lambda: _has_status(office, "suspended"))
    assert road.news.stopped_accounts == [(account.id, AccountStatus.SUSPENDED)]
    assert await office.count("outbox", "kind = 43") == 1
    [audit] = await office.admin.fetch("select action, actor, detail from audit")
    assert (audit["action"], audit["actor"]) == ("sender_account.suspended", "worker")
    counted = await road.counted(account)
    assert (counted["reserved"], counted["sent"], counted["errors"]) == (0, 0, 1)


async def test_ten_refusals_in_a_row_pause(road: Road) -> None:
    office = road.office
    account = await road.account()
    await office.submit(12, category=Category.OPERATIONAL)
    async with office.running(await road.dispatcher(Ways(OneAnswer(ACCEPTED), OneAnswer(REFUSED)))):
        await office.until(lambda: _has_status(office, "paused"))
    assert road.news.stopped_accounts == [(account.id, AccountStatus.PAUSED)]
    assert await office.admin.fetchval("select status_reason from sender_accounts") == "errors_in_a_row"


async def test_a_request_to_slow_down_sets_a_pace_and_gives_the_room_back(road: Road) -> None:
    office = road.office
    account = await road.account(daily_limit=50)
    await office.submit(8)
    async with office.running(await road.dispatcher(Ways(OneAnswer(ACCEPTED), OneAnswer(SLOW_DOWN)))):
        await office.until(lambda: _has_pace(office))
    row = await office.admin.fetchrow("select provider, rate, slowed_at from sender_paces")
    assert row["provider"] == "gmail"
    assert row["rate"] > 0
    counted = await road.counted(account)
    assert (counted["reserved"], counted["deferred"], counted["errors"]) == (0, 8, 0)


async def test_a_rescuer_gives_back_what_a_lost_worker_had_not_sent(road: Road) -> None:
    office = road.office
    account = await road.account(daily_limit=10)
    await office.submit(4)
    lost, rescuer = await office.worker(), await office.worker()
    batch_id, claimed = await lost.claim()
    reserved = await road.capacity().reserve(batch_id, claimed)
    assert reserved is not None
    assert len(reserved.ways) == 4
    assert (await road.counted(account))["reserved"] == 4
    await office.expire_lease(lost.id)
    journal = _Journal(lost.id, {claimed[0].id})
    assert await rescuer.rescue(shelf=journal).by_journals() == 4
    assert (await road.counted(account))["reserved"] == 1
    assert await office.count("sender_reservations") == 0


@dataclass
class _Journal:
    """Knows that some messages were on the wire, and that the rest never were."""

    worker_id: UUID
    on_the_wire: set[UUID]
    can_be_trusted: bool = True

    def abandoned(self) -> list["_Journal"]:
        return [self]

    def dead(self) -> set[UUID]:
        return {self.worker_id}

    def mark_of(self, held: Any) -> Any:
        return _Mark() if held.id in self.on_the_wire else None

    def discard(self) -> None: ...

    def leave(self) -> None: ...


@dataclass
class _Mark:
    going: bool = True
    outcome: Outcome | None = None


async def _settled(office: Any, count: int) -> bool:
    return await office.count("attempts", "outcome = 1") == count and await office.count("claims") == 0


async def _queued(office: Any, count: int) -> bool:
    return await office.count("queue") == count


async def _has_status(office: Any, status: str) -> bool:
    return await office.count("sender_accounts", f"status = '{status}'") == 1


async def _has_pace(office: Any) -> bool:
    return await office.count("sender_paces") == 1


async def test_an_operator_s_pause_of_an_account_leaves_its_messages_to_another(road: Road) -> None:
    office = road.office
    account = await road.account(from_address="one@acme.example")
    other = await road.account(name="other", from_address="two@acme.example", daily_limit=3)
    capacity, paused = road.capacity(), {account.id}
    capacity._desk._is_paused = paused.__contains__
    await office.submit(3)
    worker = await office.worker()
    batch_id, claimed = await worker.claim()
    reserved = await capacity.reserve(batch_id, claimed)
    assert reserved is not None
    assert {way.account_id for way in reserved.ways.values()} == {other.id}
