"""What waits for sender accounts comes back the moment that something about them changes, and nothing else does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec import structs

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pauses import PgHolds, PgPauses
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.senders import PgWaitingMail
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.gate import Defer
from waypost.delivery.holding import Holding
from waypost.delivery.model import Claimed, Settlement, Way
from waypost.delivery.rules import close, put_off, stop_at_gate
from waypost.kernel.ids import mint

SHUT_OUT = Outcome(kind=OutcomeKind.UNREACHABLE, reason=OutcomeReason.AUTHENTICATION, code=535)
GREYLISTED = Outcome(kind=OutcomeKind.DEFERRED, reason=OutcomeReason.OTHER, code=451)


@dataclass
class Counter:
    """Where messages are told to wait, and called."""

    office: Any
    holding: Holding
    account: UUID
    rings: int = 0

    def __post_init__(self) -> None:
        self.waiting = PgWaitingMail(clock=self.office.clock, ring=self.ring)

    def ring(self) -> None:
        self.rings += 1

    async def call_up(self, account: UUID | None = None) -> None:
        async with self.office.api_work.begin("acme") as tx:
            await self.waiting.call_up(tx, account or self.account)

    async def walk(self) -> None:
        """What workers do some seconds after the change."""
        await self.holding.work_off()
        assert await self.office.count("pauses") == 1, "not yet"
        await self.office.admin.execute(
            "update pauses set created_at = created_at - interval '11 s', resumed_at = resumed_at - interval '11 s'"
        )
        await self.holding.work_off()
        assert await self.office.count("pauses") == 0

    def later(self, one: Claimed, rule: str) -> Settlement:
        until = self.office.clock.now() + timedelta(minutes=7)
        return put_off(one, Defer(until=until, rule=rule, fact={"sender_account": "acc_1"}))

    def answered(self, one: Claimed, outcome: Outcome, account: UUID | None = None) -> Settlement:
        """With a backoff of almost a minute."""
        held = one if account is None else _leaving_by(one, account)
        return close(held, outcome, self.office.clock.now(), lambda: 0.99)


def _leaving_by(one: Claimed, account: UUID) -> Claimed:
    return structs.replace(one, way=Way(account_id=account))


@pytest.fixture
async def counter(office: Any) -> Any:
    line = Line(office.worker_dsn, PoolOptions(application_name="holds", index_plans=True))
    account = mint(office.clock)
    await office.admin.execute(
        "insert into sender_accounts (tenant_id, id, kind, name, from_address, batch_size, delay_ms, connection,"
        " status, status_at, created_at, updated_at)"
        " values ('acme', $1, 'smtp', 'n', 'a@example.com', 1, 0, '{}', 'paused', now(), now(), now())",
        account,
    )
    await office.admin.execute(
        "insert into sender_states (tenant_id, account_id, plan_at, plan_day, planned)"
        " values ('acme', $1, now() + interval '1 day', current_date + 1, 7)",
        account,
    )
    yield Counter(office, Holding(PgHolds(line, office.clock)), account)
    await line.close()


async def claimed_ids(worker: Any) -> set[UUID]:
    return {one.id for one in (await worker.claim())[1]}


async def settle(worker: Any, batch: tuple[UUID, Sequence[Claimed]], settlements: Sequence[Settlement]) -> None:
    assert len(settlements) == len(batch[1])
    await worker.settler.settle(batch[0], settlements)


@pytest.mark.parametrize("rule", ["sender_paused", "sender_limit", "sender_pace"])
async def test_what_waits_for_an_account_is_due_when_the_change_commits(
    office: Any, counter: Counter, rule: str
) -> None:
    ids, worker = await office.submit(3), await office.worker()
    batch = await worker.claim()
    await settle(worker, batch, [counter.later(one, rule) for one in batch[1]])
    assert await claimed_ids(worker) == set()
    await counter.call_up()
    assert counter.rings == 1
    assert await claimed_ids(worker) == set(ids)


async def test_what_waits_for_a_mailbox_provider_is_called_by_workers(office: Any, counter: Counter) -> None:
    """They alone know what was promised."""
    ids, worker = await office.submit(2), await office.worker()
    await office.admin.execute(
        "insert into sender_paces (tenant_id, account_id, provider, hour, taken, plan_at, updated_at)"
        " values ('acme', $1, 'gmail', now(), 1, now() + interval '1 day', now())",
        counter.account,
    )
    batch = await worker.claim()
    await settle(worker, batch, [counter.later(one, "provider_pace") for one in batch[1]])
    await counter.call_up()
    await counter.walk()
    assert await claimed_ids(worker) == set(ids)
    assert await office.count("sender_paces", "plan_at is null") == 1


async def test_what_waits_for_anything_else_goes_on_waiting(office: Any, counter: Counter) -> None:
    now = office.clock.now()
    scheduled = await office.submit(1, due=now + timedelta(hours=1))
    ids, worker = await office.submit(4), await office.worker()
    batch_id, claimed = await worker.claim()
    quiet, greylisted, elsewhere, late = sorted(claimed, key=lambda one: one.id)
    until = Defer(until=now + timedelta(hours=1), rule="quiet_hours", fact={})
    await settle(
        worker,
        (batch_id, claimed),
        [
            stop_at_gate(quiet, until),
            counter.answered(greylisted, GREYLISTED, counter.account),
            counter.answered(elsewhere, SHUT_OUT, uuid4()),
            counter.later(late, "sender_limit"),
        ],
    )
    await counter.call_up()
    assert await claimed_ids(worker) == {late.id}
    assert await office.count("queue") == 4
    await counter.walk()
    assert await claimed_ids(worker) == set()
    assert len(ids) + len(scheduled) == 5


async def test_what_a_server_shut_out_is_tried_again_at_once(office: Any, counter: Counter) -> None:
    """Its secret was wrong; now it is right."""
    ids, worker = await office.submit(2), await office.worker()
    batch = await worker.claim()
    await settle(worker, batch, [counter.answered(one, SHUT_OUT, counter.account) for one in batch[1]])
    assert await claimed_ids(worker) == set()
    await counter.call_up()
    assert await claimed_ids(worker) == set(ids)


async def test_a_retry_that_had_to_wait_for_its_account_is_called_too(office: Any, counter: Counter) -> None:
    """The same word as before its attempt is said again, so that it is known what the message waits for now."""
    [one], worker = await office.submit(1), await office.worker()
    for _ in range(2):
        batch = await worker.claim()
        await settle(worker, batch, [counter.later(held, "sender_paused") for held in batch[1]])
        await counter.call_up()
    assert await office.count("timeline", "reason = 'sender_paused'") == 1
    batch = await worker.claim()
    await settle(worker, batch, [counter.answered(held, GREYLISTED, counter.account) for held in batch[1]])
    await counter.call_up()
    assert await claimed_ids(worker) == set()
    await office.admin.execute("update queue set due = now()")
    await office.admin.execute("update lanes set due = now(), head = '-infinity'")
    batch = await worker.claim()
    await settle(worker, batch, [counter.later(held, "sender_paused") for held in batch[1]])
    await counter.call_up()
    assert await claimed_ids(worker) == {one}
    assert await office.count("timeline", "reason = 'sender_paused'") == 2


async def test_what_a_worker_put_off_in_that_very_moment_is_called_by_the_walk_that_follows(
    office: Any, counter: Counter
) -> None:
    ids, worker = await office.submit(2), await office.worker()
    batch = await worker.claim()
    await counter.call_up()
    await settle(worker, batch, [counter.later(one, "sender_paused") for one in batch[1]])
    assert await claimed_ids(worker) == set()
    await counter.walk()
    assert await claimed_ids(worker) == set(ids)


async def test_what_was_promised_is_forgotten_and_a_second_change_does_not_begin_a_second_walk(
    office: Any, counter: Counter
) -> None:
    await counter.call_up()
    row = await office.admin.fetchrow("select plan_at, plan_day, planned from sender_states")
    assert tuple(row) == (None, None, 0)
    await counter.call_up()
    assert await office.count("pauses", "resumed_at is not null") == 1
    async with office.api_work.begin("acme") as tx:
        assert await PgPauses(ring=lambda: None).all(tx, "acme") == [], "nobody sees such a walk as a pause"
    await counter.walk()
