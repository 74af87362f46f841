"""Settling: what is written for each way a message can end, once, and only by whom it belongs to."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.model import Bounced, Claimed, Closed, End, Ended, Note, Returned, Settlement, State
from waypost.delivery.ports import SettleRefused
from waypost.delivery.rules import COUNTED, DEAD, close, give_back
from waypost.kernel.vocabulary import Category
from waypost.outbox.model import OutboxKind

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED, code=250, reference="queued as 4Fq1", latency_ms=7)
LATER = Outcome(kind=OutcomeKind.DEFERRED, reason=OutcomeReason.SLOW_DOWN, code=451, reply="try later")
NEVER = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.ADDRESS_UNKNOWN, code=550, hard_bounce=True)
DOUBT = Outcome(kind=OutcomeKind.IN_DOUBT, reason=OutcomeReason.CONNECTION)


def closed(claimed: Claimed, outcome: Outcome) -> Closed:
    return close(claimed, outcome, datetime.now(UTC), lambda: 0.5)


async def news(office: Any) -> list[tuple[OutboxKind, UUID]]:
    rows = await office.admin.fetch("select kind, subject_id from outbox order by id")
    return [(OutboxKind(row["kind"]), row["subject_id"]) for row in rows]


async def test_an_accepted_message_is_dispatched(office: Any) -> None:
    [one] = await office.submit(1)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    assert await worker.store.settle(worker.id, batch, [closed(claimed, ACCEPTED)], whole=True) == set()
    row = await office.admin.fetchrow("select outcome, code, reference, latency_ms, reason, reply from attempts")
    assert tuple(row) == (1, 250, "queued as 4Fq1", 7, None, None)
    assert await office.state(one) == (State.DISPATCHED, None)
    assert await news(office) == [(OutboxKind.NOTIFICATION_DISPATCHED, one)]
    assert await office.count("claims") == await office.count("queue") == 0


async def test_a_deferral_goes_back_to_the_queue_with_its_reason(office: Any) -> None:
    [one] = await office.submit(1)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    settlement = structs.replace(closed(claimed, LATER), sealed_reply=b"sealed")
    await worker.store.settle(worker.id, batch, [settlement], whole=True)
    row = await office.admin.fetchrow("select attempt, claims, due - now() > interval '20 seconds' from queue")
    assert tuple(row) == (1, 0, True)
    assert await office.state(one) == (State.QUEUED, "slow_down")
    assert await office.admin.fetchval("select reply from attempts") == b"sealed"
    assert await news(office) == [(OutboxKind.NOTIFICATION_DEFERRED, one)]


async def test_the_next_attempt_has_the_next_number(office: Any) -> None:
    [one] = await office.submit(1)
    worker = await office.worker()
    for n in (1, 2, 3):
        batch, [claimed] = await worker.claim()
        assert claimed.n == n
        await worker.store.settle(worker.id, batch, [closed(claimed, LATER)], whole=True)
        await office.admin.execute(
            "update queue set due = now() - interval '1 second'; update lanes set due = now(), head = '-infinity'"
        )
    async with office.api_work.begin("acme") as tx:
        events = [entry.event for entry in await office.delivery.timeline(tx, one)]
        assert [attempt.n for attempt in await office.delivery.attempts(tx, one)] == [1, 2, 3]
    assert events.count("attempt_deferred") == events.count("attempt_started") == 3


async def test_a_hard_bounce_fails_and_suppresses_the_address(office: Any) -> None:
    [one] = await office.submit(1)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    assert claimed.address_id is not None
    bounced = Bounced(address_id=claimed.address_id, masked="j•••@example.com", consequence=DEAD)
    await worker.store.settle(worker.id, batch, [structs.replace(closed(claimed, NEVER), bounced=bounced)], whole=True)
    assert await office.state(one) == (State.FAILED, "address_unknown")
    row = await office.admin.fetchrow("select reason, source, notification_id, masked from suppressions")
    assert tuple(row) == ("hard_bounce", "delivery", one, "j•••@example.com")
    assert await office.count("gate_changes", f"recipient_id = '{claimed.recipient_id}'") == 1
    assert (OutboxKind.NOTIFICATION_FAILED, one) in await news(office)


@pytest.mark.parametrize(
    ("reason", "times", "suppression", "lasts"),
    [
        (OutcomeReason.MAILBOX_DISABLED, 2, "hard_bounce", None),
        (OutcomeReason.MAILBOX_FULL, 3, "soft_bounce", timedelta(hours=24)),
    ],
)
async def test_some_refusals_count_until_the_address_is_suppressed(
    office: Any, reason: OutcomeReason, times: int, suppression: str, lasts: timedelta | None
) -> None:
    """A closed mailbox at the second refusal, a full one at the third and only for a while; others' never count."""
    refused = Outcome(kind=OutcomeKind.REJECTED, reason=reason, code=550)
    other = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, code=550)
    worker = await office.worker()
    jane: UUID | None = None

    async def refuse_one(said: Outcome, *, to_someone_else: bool = False) -> UUID:
        nonlocal jane
        [one] = await office.submit(1)
        if jane is not None and not to_someone_else:
            await office.admin.execute(
                "update notifications set recipient_id = $1, address_id = $1 where id = $2", jane, one
            )
        batch, [claimed] = await worker.claim()
        jane = jane or claimed.recipient_id
        assert claimed.address_id is not None
        bounced = Bounced(address_id=claimed.address_id, masked="j•••@example.com", consequence=COUNTED[reason])
        settlement = structs.replace(closed(claimed, said), bounced=bounced if said is refused else None)
        await worker.store.settle(worker.id, batch, [settlement], whole=True)
        return one

    for _ in range(times - 1):
        await refuse_one(refused)
        await refuse_one(other)
        await refuse_one(refused, to_someone_else=True)
        assert await office.count("suppressions") == 0
    last = await refuse_one(refused)
    row = await office.admin.fetchrow("select reason, notification_id, expires_at - created_at from suppressions")
    assert tuple(row) == (suppression, last, lasts)


@pytest.mark.parametrize(
    ("category", "state", "queued"),
    [(Category.MARKETING, State.UNCONFIRMED, 0), (Category.TRANSACTIONAL, State.QUEUED, 1)],
)
async def test_in_doubt_marketing_is_given_up_and_the_rest_resent(
    office: Any, category: Category, state: State, queued: int
) -> None:
    [one] = await office.submit(1, category=category)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    await worker.store.settle(worker.id, batch, [closed(claimed, DOUBT)], whole=True)
    assert await office.state(one) == (state, "connection")
    assert await office.count("queue") == queued


async def test_an_end_without_a_call_takes_the_attempt_back(office: Any) -> None:
    [one] = await office.submit(1, secrets=b"one-time code")
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    note = Note(event="withheld", reason="suppressed", detail={"rule": "suppression"})
    ended = Ended(held=claimed, end=End(state=State.SUPPRESSED, reason="suppressed"), note=note)
    await worker.store.settle(worker.id, batch, [ended], whole=True)
    assert await office.count("attempts") == 0
    assert await office.state(one) == (State.SUPPRESSED, "suppressed")
    assert await office.count("notifications", "secrets is not null") == 0
    async with office.api_work.begin("acme") as tx:
        [entry] = await office.delivery.timeline(tx, one)
    assert (entry.event, entry.reason, entry.detail) == ("withheld", "suppressed", {"rule": "suppression"})
    assert await news(office) == [(OutboxKind.NOTIFICATION_SUPPRESSED, one)]


async def test_what_is_given_back_is_as_if_never_claimed(office: Any) -> None:
    [one] = await office.submit(1)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    returned = give_back(claimed, datetime.now(UTC), blamed=True)
    await worker.store.settle(worker.id, batch, [returned], whole=True)
    assert await office.count("attempts") == 0
    assert await office.state(one) == (State.QUEUED, None)
    _, [again] = await worker.claim()
    assert (again.id, again.n, again.claims) == (one, 1, 1)


async def test_secrets_are_forgotten_when_the_message_is_out(office: Any) -> None:
    await office.submit(2, secrets=b"one-time code")
    worker = await office.worker()
    batch, [first, second] = await worker.claim()
    await worker.store.settle(worker.id, batch, [closed(first, ACCEPTED), closed(second, LATER)], whole=True)
    kept = await office.admin.fetch("select id from notifications where secrets is not null")
    assert [row["id"] for row in kept] == [second.id]


async def test_settling_again_changes_nothing(office: Any) -> None:
    """As after a COMMIT whose answer was lost."""
    await office.submit(8, secrets=b"x")
    worker = await office.worker()
    batch, claimed = await worker.claim()
    outcomes: Sequence[Settlement] = [
        closed(claimed[0], ACCEPTED),
        closed(claimed[1], LATER),
        closed(claimed[2], NEVER),
        closed(claimed[3], DOUBT),
        give_back(claimed[4], datetime.now(UTC), blamed=False),
        Ended(
            held=claimed[5],
            end=End(state=State.EXPIRED, reason="expired"),
            note=Note(event="withheld", reason="expired"),
        ),
        closed(claimed[6], ACCEPTED),
        closed(claimed[7], ACCEPTED),
    ]
    assert await worker.store.settle(worker.id, batch, outcomes, whole=True) == set()
    tables = ("attempts", "queue", "outbox", "timeline", "notifications", "claims", "lanes")
    before = [await office.admin.fetch(f"select * from {table} order by 1, 2, 3") for table in tables]
    lost = await worker.store.settle(worker.id, batch, outcomes, whole=True)
    assert lost == {one.id for one in claimed}
    assert [await office.admin.fetch(f"select * from {table} order by 1, 2, 3") for table in tables] == before


async def test_one_settlement_writes_many_tenants_each_inside_its_wall(office: Any) -> None:
    tenants = [f"tenant-{number}" for number in range(5)]
    for tenant in tenants:
        await office.make_tenant(tenant)
        await office.submit(3, tenant=tenant)
        await office.submit(2, tenant=tenant, category=Category.MARKETING)
    worker = await office.worker()
    batch, claimed = await worker.claim()
    assert len(claimed) == 25
    outcomes = [closed(one, LATER if number % 3 == 0 else ACCEPTED) for number, one in enumerate(claimed)]
    await worker.store.settle(worker.id, batch, outcomes, whole=True)
    told = await office.admin.fetch(
        "select o.tenant_id = n.tenant_id as same from outbox o join notifications n on n.id = o.subject_id"
    )
    assert [row["same"] for row in told] == [True] * 25
    assert await office.count("attempts", "outcome is null") == 0
    assert await office.count("claims") == 0


async def test_part_of_a_batch_leaves_the_rest_held(office: Any) -> None:
    await office.submit(4)
    worker = await office.worker()
    batch, claimed = await worker.claim()
    await worker.store.settle(worker.id, batch, [closed(claimed[0], ACCEPTED)], whole=False)
    assert await office.admin.fetchval("select cardinality(ids) from claims") == 3
    await worker.store.settle(worker.id, batch, [closed(one, ACCEPTED) for one in claimed[1:]], whole=False)
    assert await office.count("claims") == 0


async def test_another_workers_attempt_is_out_of_reach(office: Any) -> None:
    await office.submit(1)
    owner, stranger = await office.worker(), await office.worker()
    batch, [claimed] = await owner.claim()
    for settlement in (closed(claimed, NEVER), give_back(claimed, datetime.now(UTC), blamed=False)):
        assert await stranger.store.settle(stranger.id, batch, [settlement], whole=True) == {claimed.id}
    assert await office.count("attempts", "outcome is null") == 1
    assert await office.count("queue") == await office.count("outbox") == 0


async def test_a_value_that_cannot_be_stored_is_refused_whole(office: Any) -> None:
    await office.submit(2)
    worker = await office.worker()
    batch, claimed = await worker.claim()
    poison = closed(claimed[0], structs.replace(ACCEPTED, reference="queued\x00as"))
    with pytest.raises(SettleRefused):
        await worker.store.settle(worker.id, batch, [poison, closed(claimed[1], ACCEPTED)], whole=True)
    assert await office.count("attempts", "outcome is null") == 2


@pytest.mark.parametrize("reference", ["a\x00b", "\udcff"])
async def test_poison_is_found_and_written_plainly(office: Any, reference: str) -> None:
    await office.submit(50)
    worker = await office.worker()
    batch, claimed = await worker.claim()
    outcomes = [closed(one, ACCEPTED) for one in claimed]
    outcomes[17] = closed(claimed[17], structs.replace(ACCEPTED, reference=reference))
    assert await worker.settler.settle(batch, outcomes)
    assert await office.count("attempts", "outcome = 1") == 50
    assert await office.count("attempts", "outcome = 1 and reference is null and code is null") == 1
    assert await office.count("outbox") == 50
    assert await office.count("claims") == 0


async def test_expired_retries_end(office: Any) -> None:
    [one] = await office.submit(1, expires_in=timedelta(seconds=20))
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    await worker.store.settle(worker.id, batch, [closed(claimed, LATER)], whole=True)
    assert await office.state(one) == (State.EXPIRED, "slow_down")
    assert await office.count("queue") == 0


async def test_cancelling_takes_back_only_what_waits(office: Any) -> None:
    held, waiting = (await office.submit(1))[0], None
    worker = await office.worker()
    await worker.claim()
    [waiting] = await office.submit(1, secrets=b"x")
    async with office.api_work.begin("acme") as tx:
        assert await office.delivery.cancel(tx, [held, waiting, held]) == {waiting}
    assert await office.state(waiting) == (State.CANCELLED, "cancelled")
    assert await office.state(held) == (State.DISPATCHING, None)
    async with office.api_work.begin("acme") as tx:
        assert await office.delivery.cancel(tx, [held, waiting]) == set()
        assert [entry.event for entry in await office.delivery.timeline(tx, waiting)] == ["cancelled"]
    assert await news(office) == [(OutboxKind.NOTIFICATION_CANCELLED, waiting)]
    assert await office.count("notifications", "secrets is not null") == 0


async def test_returned_rows_keep_their_due_time(office: Any) -> None:
    await office.submit(1)
    worker = await office.worker()
    batch, [claimed] = await worker.claim()
    later = datetime.now(UTC) + timedelta(hours=1)
    await worker.store.settle(worker.id, batch, [Returned(held=claimed, due=later, claims=0)], whole=True)
    assert await worker.store.next_due() == later
