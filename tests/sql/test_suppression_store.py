"""Suppressions on the real database: one place per address, raised and never lowered, and everyone is marked."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.adapters.postgres.work import PgWork
from waypost.delivery.gate import MessageKind
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Conflict, NotFound, Refused
from waypost.kernel.vocabulary import Category, Channel
from waypost.suppression.model import NewSuppression, Releaser, Suppression, SuppressionReason
from waypost.suppression.rules import stands_against
from waypost.suppression.suppress import Suppressions

HASH = "sha256:" + "a" * 64
CLOCK = SystemClock()


class Desk:
    def __init__(self, work: PgWork) -> None:
        self.work = work
        self.use_case = Suppressions(store=PgSuppressions(), clock=CLOCK)

    async def suppress(self, reason: SuppressionReason, tenant: str = "acme", **said: Any) -> Suppression:
        new = NewSuppression(
            channel=Channel.EMAIL,
            hash=said.pop("hash", HASH),
            masked="j•••@example.com",
            reason=reason,
            source="test",
            **said,
        )
        async with self.work.begin(tenant) as tx:
            return await self.use_case.suppress(tx, new)

    async def release(self, found: Suppression, releaser: Releaser = Releaser.OPERATOR) -> Suppression:
        async with self.work.begin("acme") as tx:
            return await self.use_case.release(tx, found.id, releaser=releaser, by="key_x")

    async def reasons(self, address: Any, topic: str | None = None) -> set[SuppressionReason]:
        delivery = PgDelivery(clock=CLOCK, ring=lambda: None)
        async with self.work.begin("acme") as tx:
            kind = MessageKind(Category.MARKETING, topic)
            [facts] = await delivery.gate_facts(tx, Channel.EMAIL, [(address, address)], [kind])
        opt_outs = [one for one in facts.opt_outs if stands_against(one, topic)]
        return {*facts.suppressions, *(SuppressionReason.OPT_OUT for _ in opt_outs)}


@pytest.fixture
async def desk(api_work: PgWork, make_tenant: Callable[..., Awaitable[str]]) -> Desk:
    await make_tenant("acme")
    await make_tenant("other")
    return Desk(api_work)


@pytest.fixture
async def jane(desk: Desk, admin: asyncpg.Connection) -> Any:
    """A recipient whose address has HASH; her id is her address's too."""
    person = uuid4()
    await admin.execute(
        "insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)"
        " values ('acme', $1, $2, 'user', 'k', now(), now())",
        person,
        str(person),
    )
    await admin.execute(
        "insert into addresses"
        " (tenant_id, id, recipient_id, channel, hash, ciphertext, status, given_at, created_at, updated_at)"
        " values ('acme', $1, $1, 1, $2, 'c', 'active', now(), now(), now())",
        person,
        HASH,
    )
    return person


async def test_news_raises_and_never_lowers(desk: Desk, jane: Any) -> None:
    first = await desk.suppress(SuppressionReason.MANUAL)
    raised = await desk.suppress(SuppressionReason.COMPLAINT)
    assert raised.id != first.id
    for milder in (SuppressionReason.HARD_BOUNCE, SuppressionReason.MANUAL, SuppressionReason.SOFT_BOUNCE):
        assert (await desk.suppress(milder)).id == raised.id
    assert await desk.reasons(jane) == {SuppressionReason.COMPLAINT}


async def test_an_opt_out_stands_beside_the_others_and_outlives_them(desk: Desk, jane: Any) -> None:
    await desk.suppress(SuppressionReason.OPT_OUT)
    bounce = await desk.suppress(SuppressionReason.HARD_BOUNCE)
    assert await desk.reasons(jane) == {SuppressionReason.OPT_OUT, SuppressionReason.HARD_BOUNCE}
    await desk.release(bounce)
    assert await desk.reasons(jane) == {SuppressionReason.OPT_OUT}


async def test_a_place_whose_time_has_run_out_is_free(desk: Desk, jane: Any, admin: asyncpg.Connection) -> None:
    soon = CLOCK.now() + timedelta(hours=1)
    await desk.suppress(SuppressionReason.COMPLAINT, expires_at=soon)
    await admin.execute("update suppressions set expires_at = now() - interval '1 second'")
    assert await desk.reasons(jane) == set()
    await desk.suppress(SuppressionReason.RATE_LIMIT, expires_at=soon)
    assert await desk.reasons(jane) == {SuppressionReason.RATE_LIMIT}


async def test_the_same_reason_may_last_longer_but_not_shorter(desk: Desk, jane: Any) -> None:
    soon, late = CLOCK.now() + timedelta(hours=1), CLOCK.now() + timedelta(days=1)
    await desk.suppress(SuppressionReason.RATE_LIMIT, expires_at=soon)
    assert (await desk.suppress(SuppressionReason.RATE_LIMIT, expires_at=late)).expires_at == late
    assert (await desk.suppress(SuppressionReason.RATE_LIMIT, expires_at=soon)).expires_at == late
    assert (await desk.suppress(SuppressionReason.RATE_LIMIT)).expires_at is None


async def test_what_stands_never_ends_sooner_because_of_news(desk: Desk, jane: Any) -> None:
    soon = CLOCK.now() + timedelta(hours=1)
    await desk.suppress(SuppressionReason.MANUAL)
    raised = await desk.suppress(SuppressionReason.HARD_BOUNCE, expires_at=soon)
    assert (raised.reason, raised.expires_at) == (SuppressionReason.HARD_BOUNCE, None)
    await desk.suppress(SuppressionReason.COMPLAINT, hash="sha256:" + "b" * 64, expires_at=soon)
    longer = await desk.suppress(SuppressionReason.MANUAL, hash="sha256:" + "b" * 64)
    assert (longer.reason, longer.expires_at) == (SuppressionReason.COMPLAINT, None)


async def test_opt_outs_stand_by_topic_and_one_may_be_taken_back(desk: Desk, jane: Any) -> None:
    await desk.suppress(SuppressionReason.OPT_OUT, topic="news")
    assert await desk.reasons(jane, "news") == {SuppressionReason.OPT_OUT}
    assert await desk.reasons(jane, "offers") == set()
    await desk.suppress(SuppressionReason.OPT_OUT)
    assert await desk.reasons(jane, "offers") == {SuppressionReason.OPT_OUT}
    async with desk.work.begin("acme") as tx:
        await desk.use_case.opt_in(tx, Channel.EMAIL, [HASH], "news", by="recipient")
    assert await desk.reasons(jane, "news") == set()
    assert await desk.reasons(jane, "offers") == {SuppressionReason.OPT_OUT}
    await desk.suppress(SuppressionReason.OPT_OUT)
    assert await desk.reasons(jane, "news") == {SuppressionReason.OPT_OUT}


async def test_an_opt_in_never_takes_back_a_complaint(desk: Desk, jane: Any) -> None:
    await desk.suppress(SuppressionReason.COMPLAINT)
    await desk.suppress(SuppressionReason.OPT_OUT)
    async with desk.work.begin("acme") as tx:
        await desk.use_case.opt_in(tx, Channel.EMAIL, [HASH], "", by="recipient")
    assert await desk.reasons(jane) == {SuppressionReason.COMPLAINT}


async def test_everyone_with_the_address_is_marked_and_nobody_else(
    desk: Desk, jane: Any, admin: asyncpg.Connection
) -> None:
    found = await desk.suppress(SuppressionReason.MANUAL)
    assert [row["recipient_id"] for row in await admin.fetch("select recipient_id from gate_changes")] == [jane]
    marked = await admin.fetchval("select changed_at from gate_changes")
    await desk.release(found)
    assert await admin.fetchval("select changed_at from gate_changes") > marked
    kinds = [row["kind"] for row in await admin.fetch("select kind from outbox order by id")]
    assert kinds == [20, 21]


async def test_releasing_twice_is_as_good_as_once(desk: Desk, admin: asyncpg.Connection) -> None:
    found = await desk.suppress(SuppressionReason.MANUAL)
    once, twice = await desk.release(found), await desk.release(found)
    assert once.released_at == twice.released_at
    assert once.released_by == "key_x"
    assert await admin.fetchval("select count(*) from outbox where kind = 21") == 1
    assert (await desk.suppress(SuppressionReason.MANUAL)).id != found.id


async def test_only_the_recipient_takes_back_an_opt_out(desk: Desk) -> None:
    opt_out = await desk.suppress(SuppressionReason.OPT_OUT)
    with pytest.raises(Conflict):
        await desk.release(opt_out)
    manual = await desk.suppress(SuppressionReason.MANUAL)
    with pytest.raises(Conflict):
        await desk.release(manual, Releaser.RECIPIENT)
    assert (await desk.release(opt_out, Releaser.RECIPIENT)).released_at is not None


async def test_tenants_do_not_see_each_others(desk: Desk, jane: Any) -> None:
    theirs = await desk.suppress(SuppressionReason.COMPLAINT, tenant="other")
    assert await desk.reasons(jane) == set()
    with pytest.raises(NotFound):
        await desk.release(theirs)


async def test_one_that_has_already_ended_is_refused(desk: Desk) -> None:
    with pytest.raises(Refused):
        await desk.suppress(SuppressionReason.MANUAL, expires_at=CLOCK.now())


async def test_the_list_shows_what_is_in_force_newest_first_in_pages(desk: Desk, admin: asyncpg.Connection) -> None:
    made = [await desk.suppress(SuppressionReason.MANUAL, hash="sha256:" + f"{number:064}") for number in range(7)]
    await desk.release(made[2])
    await admin.execute("update suppressions set expires_at = now() where id = $1", made[3].id)
    seen: list[Any] = []
    cursor: str | None = None
    while True:
        async with desk.work.begin("acme") as tx:
            page = await desk.use_case.page(tx, cursor, 2)
        seen += [one.id for one in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(seen, reverse=True) == seen
    assert set(seen) == {one.id for one in made} - {made[2].id, made[3].id}
