"""Pauses on a real database: what the claim passes over, what is put aside, and that all of it comes back."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from tests.pause_desk import Desk, desk, make_batch, scope_of

from waypost.adapters.postgres import pauses as pauses_adapter
from waypost.adapters.postgres.pauses import PgHolds
from waypost.delivery.model import State, Way
from waypost.delivery.pause_book import Stop
from waypost.delivery.pause_model import PauseScope
from waypost.delivery.rules import give_back, hold_back
from waypost.kernel.errors import Forbidden, NotFound, Refused
from waypost.kernel.ids import mint, show
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vocabulary import Category, Priority

__all__ = ["desk"]


@pytest.mark.parametrize(("kind", "subject"), [(PauseScope.TENANT, None), (PauseScope.CHANNEL, "email")])
async def test_a_paused_lane_is_passed_over_and_goes_on_at_once(
    office: Any, desk: Desk, kind: PauseScope, subject: str | None
) -> None:
    await office.make_tenant("other")
    ids = await office.submit(3)
    worker = await office.worker()
    pause = await desk.pause(kind, subject)
    theirs = await office.submit(2, tenant="other")
    _, claimed = await worker.claim()
    assert {one.id for one in claimed} == set(theirs)
    assert set((await office.states(ids)).values()) == {State.QUEUED}
    assert await worker.store.next_due() is None
    await desk.resume(pause)
    _, claimed = await worker.claim()
    assert {one.id for one in claimed} == set(ids)


async def test_a_lane_made_while_its_tenant_is_paused_is_paused_too(office: Any, desk: Desk) -> None:
    pause = await desk.pause(PauseScope.TENANT)
    ids = await office.submit(1, priority=Priority.URGENT)
    worker = await office.worker()
    assert (await worker.claim())[1] == []
    await desk.resume(pause)
    assert [one.id for one in (await worker.claim())[1]] == ids


async def test_a_lane_made_in_the_moment_of_a_pause_is_put_right(office: Any, desk: Desk) -> None:
    await office.submit(1)
    await desk.pause(PauseScope.TENANT)
    await office.admin.execute("update lanes set paused = false")
    await desk.holding.work_off()
    assert await office.admin.fetchval("select bool_and(paused) from lanes")
    await office.admin.execute("delete from pauses")
    await desk.holding.work_off()
    assert not await office.admin.fetchval("select bool_or(paused) from lanes")


async def test_what_a_category_holds_is_queued_everywhere_but_for_the_claim(office: Any, desk: Desk) -> None:
    marketing = await office.submit(5, category=Category.MARKETING)
    [wanted] = await office.submit(1)
    pause = await desk.pause(PauseScope.CATEGORY, "marketing")
    worker = await office.worker()
    assert [one.id for one in (await worker.claim())[1]] == [wanted]
    assert await desk.held() == 5
    assert set((await office.states(marketing)).values()) == {State.QUEUED}
    async with office.api_work.begin("acme") as tx:
        assert await office.delivery.cancel(tx, marketing[:1]) == {marketing[0]}
    assert await worker.upkeep.wake_sleeping_lanes() == 0
    await desk.resume(pause)
    assert await desk.held() == 0
    assert {one.id for one in (await worker.claim())[1]} == set(marketing[1:])
    assert await office.count("pauses") == 0


async def test_only_the_messages_of_a_paused_broadcast_are_held(office: Any, desk: Desk) -> None:
    ids = await office.submit(6)
    batch = await make_batch(office, ids[:4])
    pause = await desk.pause(PauseScope.BROADCAST, show("dbt", batch))
    worker = await office.worker()
    assert {one.id for one in (await worker.claim())[1]} == set(ids[4:])
    await desk.resume(pause)
    assert {one.id for one in (await worker.claim())[1]} == set(ids[:4])


async def test_many_are_held_and_brought_back_in_bounded_steps(office: Any, desk: Desk) -> None:
    """Rows made in the database, more than one step holds."""
    await office.admin.execute(
        """
        with person as (
            insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
            values ('acme', gen_random_uuid(), 'many', 'user', 'k', now(), now()) returning id
        ), ids as materialized (
            select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0')
                    || left(replace(gen_random_uuid()::text, '-', ''), 20))::uuid as id from generate_series(1, 12000)
        ), written as (
            insert into notifications (tenant_id, id, retention, request_id, recipient_id, channel, category, priority,
                                       status, gate, version_id, send_at, expires_at, payload)
            select 'acme', ids.id, 2, ids.id, person.id, 1, 5, 2, 2, 1, ids.id, now(), now() + interval '1 day', ''
            from ids, person
        )
        insert into queue (tenant_id, channel, priority, due, id, retention)
        select 'acme', 1, 2, now(), ids.id, 2 from ids
        """
    )
    await office.admin.execute("insert into lanes (tenant_id, channel, priority, due) values ('acme', 1, 2, now())")
    pause = await desk.pause(PauseScope.CATEGORY, "marketing")
    assert await desk.held() == 5_000
    await desk.holding.work_off()
    assert await desk.held() == 12_000
    worker = await office.worker()
    assert (await worker.claim())[1] == []
    await desk.resume(pause)
    assert await desk.held() == 7_000
    await desk.holding.work_off()
    assert (await desk.held(), await office.count("pauses")) == (0, 0)
    assert len((await worker.claim())[1]) == 200


async def test_what_only_a_paused_account_could_send_waits_for_it(office: Any, desk: Desk) -> None:
    """The room that was reserved on the account names it; whoever goes another way goes on."""
    account = mint(office.clock)
    await office.admin.execute(
        "insert into sender_accounts (tenant_id, id, kind, name, from_address, batch_size, delay_ms, connection,"
        " status, status_at, created_at, updated_at)"
        " values ('acme', $1, 'smtp', 'n', 'a@example.com', 1, 0, '{}', 'active', now(), now(), now())",
        account,
    )
    ids = await office.submit(2)
    pause = await desk.pause(PauseScope.ACCOUNT, show("acc", account))
    await desk.book.read()
    assert desk.book.is_paused(account)
    worker = await office.worker()
    batch_id, claimed = await worker.claim()
    through = [msgspec.structs.replace(one, way=Way(account_id=account)) for one in claimed if one.id == ids[0]]
    past = [one for one in claimed if one.id == ids[1]]
    assert [desk.book.stop_of(one) for one in (*through, *past)] == [Stop.ACCOUNT, None]
    now = office.clock.now()
    await worker.settler.settle(
        batch_id, [hold_back(through[0], now, Stop.ACCOUNT), give_back(past[0], now, blamed=False)]
    )
    assert await desk.held() == 1
    assert [one.id for one in (await worker.claim())[1]] == [ids[1]]
    await desk.resume(pause)
    assert [one.id for one in (await worker.claim())[1]] == [ids[0]]


async def test_two_pauses_hold_until_both_have_ended(office: Any, desk: Desk) -> None:
    ids = await office.submit(2, category=Category.MARKETING)
    batch = await make_batch(office, ids[:1])
    category = await desk.pause(PauseScope.CATEGORY, "marketing")
    broadcast = await desk.pause(PauseScope.BROADCAST, show("dbt", batch))
    worker = await office.worker()
    await desk.resume(category)
    await desk.holding.work_off()
    assert [one.id for one in (await worker.claim())[1]] == [ids[1]]
    await desk.resume(broadcast)
    await desk.holding.work_off()
    assert [one.id for one in (await worker.claim())[1]] == [ids[0]]


async def test_what_expires_while_it_is_held_ends_then(office: Any, desk: Desk) -> None:
    [soon] = await office.submit(1, category=Category.MARKETING, expires_in=timedelta(seconds=-5))
    [later] = await office.submit(1, category=Category.MARKETING)
    await desk.pause(PauseScope.CATEGORY, "marketing")
    await desk.holding.tidy()
    assert await office.state(soon) == (State.EXPIRED, "expired")
    assert (await office.state(later))[0] is State.QUEUED
    assert await office.count("outbox", "kind = 6") == 1


@pytest.mark.parametrize(("kind", "subject"), [(PauseScope.TENANT, None), (PauseScope.CHANNEL, "email")])
async def test_what_expires_while_its_lane_stands_still_ends_then(
    office: Any, desk: Desk, kind: PauseScope, subject: str | None
) -> None:
    await office.make_tenant("other")
    over = await office.submit(2, expires_in=timedelta(seconds=-5))
    [suspect] = await office.submit(1, expires_in=timedelta(seconds=-5), claims=3)
    [later] = await office.submit(1)
    [theirs] = await office.submit(1, tenant="other", expires_in=timedelta(seconds=-5))
    pause = await desk.pause(kind, subject)
    await desk.holding.tidy()
    for one in (*over, suspect):
        assert await office.state(one) == (State.EXPIRED, "expired")
    assert (await office.state(later))[0] is State.QUEUED
    assert (await office.state(theirs, tenant="other"))[0] is State.QUEUED, "its own claim ends it"
    assert await office.count("outbox", "kind = 6") == 3
    assert await office.count("timeline", "reason = 'expired'") == 3
    await desk.resume(pause)
    await desk.holding.tidy()
    worker = await office.worker()
    assert later in {one.id for one in (await worker.claim())[1]}


async def test_a_long_queue_that_stands_still_is_looked_through_in_bounded_steps(
    office: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses_adapter, "_AT_ONCE", 2)
    monkeypatch.setattr(pauses_adapter, "_STEPS_IN_A_ROW", 2)
    await office.submit(9)
    await office.submit(2, expires_in=timedelta(seconds=-5))
    await desk.pause(PauseScope.TENANT)
    store, ended = PgHolds(desk.line, office.clock), list[int]()
    for _ in range(3):
        ended.append(await store.end_expired_in_stopped_lanes())
    assert sum(ended) == 2
    assert await office.count("queue") == 9
    await office.admin.execute("update notifications set expires_at = now() where status = 2")
    for _ in range(4):
        ended.append(await store.end_expired_in_stopped_lanes())
    assert max(ended) <= 4
    assert await office.count("queue") == 0


async def test_nothing_stays_held_that_no_pause_holds(office: Any, desk: Desk) -> None:
    [one] = await office.submit(1, category=Category.MARKETING)
    await desk.pause(PauseScope.CATEGORY, "marketing")
    await office.admin.execute("delete from pauses")
    await desk.holding.tidy()
    worker = await office.worker()
    assert [again.id for again in (await worker.claim())[1]] == [one]


async def test_a_suspect_of_a_paused_tenant_waits_too(office: Any, desk: Desk) -> None:
    [one] = await office.submit(1, claims=3)
    pause = await desk.pause(PauseScope.TENANT)
    worker = await office.worker()
    assert not await worker.store.has_suspects()
    await desk.resume(pause)
    assert await worker.store.has_suspects()
    claimed = await worker.store.claim_suspect(worker.id, mint(office.clock))
    assert claimed is not None
    assert claimed.id == one
    await worker.settler.settle(uuid4(), [give_back(claimed, office.clock.now(), blamed=False)])


async def test_the_platform_pauses_a_tenant_and_only_the_platform_resumes_it(office: Any, desk: Desk) -> None:
    await office.make_tenant(PLATFORM)
    platform = scope_of(PLATFORM)
    ids = await office.submit(1)
    pause = await desk.pause(PauseScope.TENANT, "acme", scope=platform)
    with pytest.raises(Forbidden):
        await desk.resume(pause)
    own = await desk.pause(PauseScope.TENANT)
    worker = await office.worker()
    await desk.resume(pause, scope=platform, tenant="acme")
    assert (await worker.claim())[1] == []
    await desk.resume(own)
    assert [one.id for one in (await worker.claim())[1]] == ids
    audited = await office.admin.fetch("select tenant_id, action from audit where action like 'pause.%'")
    assert sorted((row["tenant_id"], row["action"]) for row in audited) == [
        (PLATFORM, "pause.created"),
        (PLATFORM, "pause.ended"),
        ("acme", "pause.created"),
        ("acme", "pause.created"),
        ("acme", "pause.ended"),
        ("acme", "pause.ended"),
    ]


async def test_what_cannot_be_paused_is_refused(office: Any, desk: Desk) -> None:
    await office.make_tenant("other")
    theirs = await make_batch(office, [], tenant="other")
    for kind, subject in (
        (PauseScope.TENANT, "other"),
        (PauseScope.CHANNEL, "pigeon"),
        (PauseScope.CATEGORY, None),
        (PauseScope.BROADCAST, show("dbt", theirs)),
        (PauseScope.BROADCAST, "nonsense"),
        (PauseScope.ACCOUNT, show("acc", uuid4())),
    ):
        with pytest.raises(Refused):
            await desk.pause(kind, subject)
    twice = [await desk.pause(PauseScope.CHANNEL, "sms") for _ in range(2)]
    assert twice[0].id == twice[1].id
    with pytest.raises(NotFound):
        await desk.resume(twice[0], scope=scope_of("other"))
