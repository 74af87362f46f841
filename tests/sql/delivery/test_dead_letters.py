"""Dead letters on a real database: which ends are ones, how they are found, and that sending them again is safe."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.dead_letters import PgDeadLetters
from waypost.adapters.postgres.jobs import PgJobStore
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.dead_letter_model import DeadLetterFilter, DeadLetterReason, Redriven, RedriveResult
from waypost.delivery.dead_letters import AT_ONCE, DeadLetters, RedriveSteps
from waypost.delivery.model import End, Held, Note, Settlement, State
from waypost.delivery.rules import Ended, bury, close
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.tenants.audit import Audit

REFUSED = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, code=550)
BOUNCED = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.ADDRESS_UNKNOWN, code=550, hard_bounce=True)
DEFERRED = Outcome(kind=OutcomeKind.DEFERRED, reason=OutcomeReason.MAILBOX_FULL, code=452)
DOUBTFUL = Outcome(kind=OutcomeKind.IN_DOUBT, reason=OutcomeReason.CONNECTION)
SCOPE = Scope(
    tenant_id="acme",
    mode=TenantMode.LIVE,
    key_id=uuid4(),
    key_tenant="acme",
    permissions=frozenset(Permission),
    request_id="req",
)


class OpenKeyring:
    """Seals nothing: what a job is to do can be read."""

    async def of(self, tx: Any) -> "OpenKeyring":
        return self

    def seal(self, plain: bytes, bound_to: str) -> bytes:
        return plain

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        return sealed


class Desk:
    def __init__(self, office: Any) -> None:
        self.office = office
        self.store = PgDeadLetters(clock=office.clock, ring=lambda: None)
        self.letters = DeadLetters(
            store=self.store,
            jobs=PgJobStore(),
            keyring=OpenKeyring(),  # type: ignore[arg-type]
            audit=Audit(PgAuditStore(), office.clock),
            clock=office.clock,
        )

    async def end(self, outcome: Outcome | None = None, **options: Any) -> list[UUID]:
        """Messages that ended so; None took their worker down."""
        ids = await self.office.submit(options.pop("count", 1), **options)
        worker = await self.office.worker()
        batch_id, claimed = await worker.claim()
        await worker.settler.settle(batch_id, [self._settlement(one, outcome) for one in claimed])
        return ids

    def _settlement(self, held: Held, outcome: Outcome | None) -> Settlement:
        return bury(held) if outcome is None else close(held, outcome, self.office.clock.now(), lambda: 0.5)

    async def page(self, **wanted: Any) -> list[UUID]:
        async with self.office.api_work.begin("acme") as tx:
            page = await self.letters.page(tx, SCOPE, DeadLetterFilter(**wanted), None, 100)
            return [one.notification_id for one in page.items]

    async def redrive(
        self, ids: Sequence[UUID] | None = None, *, extend: timedelta | None = None, **wanted: Any
    ) -> Redriven:
        async with self.office.api_work.begin("acme") as tx:
            given = DeadLetterFilter(**wanted) if ids is None else None
            return await self.letters.redrive(tx, SCOPE, ids=ids, wanted=given, extend=extend)


@pytest.fixture
def desk(office: Any) -> Desk:
    return Desk(office)


async def test_what_was_given_up_is_a_dead_letter_and_nothing_else(office: Any, desk: Desk) -> None:
    [refused] = await desk.end(REFUSED)
    [buried] = await desk.end(None)
    [exhausted] = await desk.end(DEFERRED, expires_in=timedelta(seconds=1))
    await desk.end(BOUNCED)
    await desk.end(DOUBTFUL, category=Category.MARKETING)
    [unmade] = await office.submit(1)
    worker = await office.worker()
    batch_id, [claimed] = await worker.claim()
    end = End(state=State.FAILED, reason="render_failed")
    await worker.settler.settle(batch_id, [Ended(held=claimed, end=end, note=Note(event="withheld"))])
    async with office.api_work.begin("acme") as tx:
        page = await desk.letters.page(tx, SCOPE, DeadLetterFilter(), None, None)
    assert {one.notification_id: (one.reason, one.detail, one.attempts) for one in page.items} == {
        refused: (DeadLetterReason.REFUSED, "policy", 1),
        buried: (DeadLetterReason.POISONOUS, "dead_letter", 0),
        exhausted: (DeadLetterReason.RETRIES_EXHAUSTED, "mailbox_full", 1),
        unmade: (DeadLetterReason.NOT_COMPOSED, "render_failed", 0),
    }
    troubles = await office.admin.fetch("select trouble, sum(count)::int as count from trouble_counts group by trouble")
    assert {row["trouble"]: row["count"] for row in troubles} == {"dead_letter": 4, "in_doubt": 1}


async def test_they_are_found_by_what_they_are(office: Any, desk: Desk) -> None:
    [first] = await desk.end(REFUSED)
    [second] = await desk.end(None, category=Category.MARKETING)
    assert await desk.page(reason=DeadLetterReason.POISONOUS) == [second]
    assert await desk.page(category=Category.TRANSACTIONAL) == [first]
    assert await desk.page(channel=Channel.SMS) == []
    assert await desk.page(template="receipt") == []
    assert await desk.page(since=office.clock.now() + timedelta(minutes=1)) == []
    assert await desk.page(until=office.clock.now() + timedelta(minutes=1)) == [second, first]
    async with office.api_work.begin("acme") as tx:
        page = await desk.letters.page(tx, SCOPE, DeadLetterFilter(), None, 1)
        assert [one.notification_id for one in page.items] == [second]
        page = await desk.letters.page(tx, SCOPE, DeadLetterFilter(), page.next, 1)
        assert ([one.notification_id for one in page.items], page.next) == ([first], None)


async def test_sending_again_goes_on_counting_and_happens_once(office: Any, desk: Desk) -> None:
    [one] = await desk.end(REFUSED)
    assert await desk.redrive([one]) == Redriven(redriven=1)
    assert (await office.state(one))[0] is State.QUEUED
    assert await desk.redrive([one]) == Redriven(redriven=0, refused=((one, RedriveResult.GONE),))
    assert await desk.page() == []
    worker = await office.worker()
    batch_id, [claimed] = await worker.claim()
    assert (claimed.id, claimed.n) == (one, 2)
    await worker.settler.settle(
        batch_id, [close(claimed, Outcome(kind=OutcomeKind.ACCEPTED), office.clock.now(), lambda: 0.5)]
    )
    assert (await office.state(one))[0] is State.DISPATCHED
    async with office.api_work.begin("acme") as tx:
        told = [entry.event for entry in await office.delivery.timeline(tx, one)]
    assert told.count("redriven") == 1
    assert await office.count("audit", "action = 'dead_letters.redriven'") == 2


async def test_one_that_fails_again_is_a_dead_letter_again(office: Any, desk: Desk) -> None:
    [one] = await desk.end(REFUSED)
    await desk.redrive([one])
    worker = await office.worker()
    batch_id, [claimed] = await worker.claim()
    await worker.settler.settle(batch_id, [bury(claimed)])
    assert await desk.page(reason=DeadLetterReason.POISONOUS) == [one]


async def test_what_has_expired_needs_more_time_given(office: Any, desk: Desk) -> None:
    [one] = await desk.end(DEFERRED, expires_in=timedelta(seconds=1))
    await office.admin.execute("update notifications set expires_at = now() - interval '1 hour'")
    assert (await desk.redrive([one])).refused == ((one, RedriveResult.EXPIRED),)
    assert (await office.state(one))[0] is State.EXPIRED
    assert (await desk.redrive([one], extend=timedelta(hours=2))).redriven == 1
    left = await office.admin.fetchval("select expires_at - now() from notifications where id = $1", one)
    assert timedelta(hours=1) < left <= timedelta(hours=2)


async def test_what_cannot_be_made_again_stays_where_it_is(office: Any, desk: Desk) -> None:
    [spent] = await desk.end(REFUSED, secrets=b"one-time")
    [erased] = await desk.end(REFUSED)
    await office.admin.execute(
        "update recipients set data_key = null, erased_at = now()"
        " where id = (select recipient_id from notifications where id = $1)",
        erased,
    )
    done = await desk.redrive(reason=DeadLetterReason.REFUSED)
    assert (done.redriven, dict(done.refused)) == (
        0,
        {spent: RedriveResult.SECRETS_GONE, erased: RedriveResult.ERASED},
    )
    assert len(await desk.page()) == 2


async def test_many_are_sent_again_as_a_job(office: Any, desk: Desk) -> None:
    ids = await desk.end(REFUSED, count=3)
    # As many more as one call takes, told apart by what they are; nobody can send these again.
    await office.admin.execute(
        "insert into dead_letters (tenant_id, id, retention, at, reason, channel, category, attempts, spent)"
        " select 'acme', gen_random_uuid(), 1, now(), 'poisonous', 1, 1, 0, false from generate_series(1, $1)",
        AT_ONCE,
    )
    done = await desk.redrive()
    assert done.job_id is not None
    steps = RedriveSteps(store=desk.store, keyring=OpenKeyring(), clock=office.clock)  # type: ignore[arg-type]
    last = False
    while not last:
        async with office.worker_work.begin("acme") as tx:
            job = await PgJobStore().find(tx, done.job_id)
            assert job is not None
            step = await steps.step(tx, job)
            await PgJobStore().advance(tx, done.job_id, step)
            last = step.is_last
    assert step.result == {"redriven": 3, "gone": AT_ONCE}
    assert set((await office.states(ids)).values()) == {State.QUEUED}
    assert await desk.page() == []


async def test_a_call_says_which_ones(desk: Desk) -> None:
    async with desk.office.api_work.begin("acme") as tx:
        for ids, wanted in ((None, None), ([uuid4()], DeadLetterFilter()), ([], None)):
            with pytest.raises(Refused):
                await desk.letters.redrive(tx, SCOPE, ids=ids, wanted=wanted)
