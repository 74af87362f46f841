"""Timers that are due: fired once, late-bound, within grace, fairly, and none held up by another."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from waypost.kernel.errors import Unavailable
from waypost.triggers.fire import SHARE

Tell = Callable[..., Any]


async def test_nothing_fires_before_its_time_and_everything_once_after_it(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    for number in range(5):
        await bureau.take(tell(number))
    assert await bureau.firing.tick() == 0
    bureau.clock.ahead = timedelta(hours=1, seconds=1)
    assert await bureau.firing.tick() == 5
    assert await bureau.firing.tick() == 0
    assert await bureau.count("notifications") == 5
    assert await bureau.count("timers where state = 'fired' and request_id is not null and ended_at is not null") == 5


async def test_many_who_fire_at_once_fire_each_timer_once(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    await asyncio.gather(*(bureau.take(tell(number)) for number in range(30)))
    await bureau.make_due()
    fired = await asyncio.gather(*(bureau.another_firing().tick() for _ in range(4)))
    assert sum(fired) == 30
    assert await bureau.count("notifications") == 30
    assert await bureau.count("queue") == 30


async def test_template_address_and_trigger_are_those_of_the_moment_it_fires(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h", key="reminder")
    await bureau.take(tell())
    await bureau.publish("newer", text="Newer words")
    await bureau.change({"template": "newer"})
    await bureau.make_due()
    assert await bureau.firing.tick() == 1
    key = await bureau.admin.fetchval(
        "select t.key from notifications n join template_versions v on v.id = n.version_id"
        " join templates t on t.id = v.template_id"
    )
    assert key == "newer"


async def test_what_is_gone_or_switched_off_by_then_is_skipped_with_the_reason(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    for change, reason in [
        ("update triggers set spec = spec || '{\"enabled\": false}' where tenant_id = 'acme'", "trigger_disabled"),
        ("delete from triggers where tenant_id = 'acme'", "trigger_gone"),
    ]:
        await bureau.admin.execute("delete from timers")
        await bureau.admin.execute("delete from consumed_events")
        await bureau.admin.execute("update triggers set spec = spec - 'enabled' where tenant_id = 'acme'")
        await bureau.take(tell())
        await bureau.admin.execute(change)
        await bureau.make_due()
        assert await bureau.firing.tick() == 1
        timer = await bureau.only_timer()
        assert (timer["state"], timer["reason"]) == ("skipped", reason)
    assert await bureau.count("notifications") == 0


async def test_after_a_long_stand_still_only_what_is_within_grace_goes(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h", grace="2h")
    for number in range(4):
        await bureau.take(tell(number))
    await bureau.make_due("119 minutes")
    await bureau.admin.execute(
        "update timers set due = now() - interval '2 days' where id in (select id from timers order by id limit 3)"
    )
    await bureau.firing.tick()
    assert await bureau.count("timers where state = 'skipped' and reason = 'too_late'") == 3
    assert await bureau.count("notifications") == 1


async def test_a_message_that_cannot_be_written_does_not_hold_up_the_others(bureau: Any, tell: Tell) -> None:
    await bureau.publish("picky", text="Dear {{ name }}")
    await bureau.trigger(template="picky", offset="1h")
    for number in range(3):
        await bureau.take(tell(number, **({"name": "Jane"} if number != 1 else {})))
    await bureau.make_due()
    assert await bureau.firing.tick() == 3
    rows = await bureau.admin.fetch("select state, reason from timers order by id")
    assert sorted((row["state"], row["reason"]) for row in rows) == [
        ("fired", None), ("fired", None), ("skipped", "missing_variable"),
    ]  # fmt: skip


async def test_one_that_breaks_the_engine_is_tried_alone_and_given_up_at_last(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    for number in range(3):
        await bureau.take(tell(number))
    victim = await bureau.admin.fetchval("select id from timers order by id limit 1")
    whole = bureau.firing._submit_due

    async def breaks(tx: Any, timers: Any) -> Any:
        if any(timer.id == victim for timer in timers):
            raise RuntimeError("jane@example.com")
        return await whole(tx, timers)

    bureau.firing._submit_due = breaks
    await bureau.make_due()
    await bureau.firing.tick()
    assert await bureau.count("timers where state = 'fired'") == 2
    for _ in range(12):
        await bureau.make_due()
        await bureau.firing.tick()
    row = await bureau.admin.fetchrow("select state, reason, tries from timers where id = $1", victim)
    assert tuple(row) == ("skipped", "failed", 10)


async def test_a_database_that_is_away_is_nobodys_fault(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    await bureau.take(tell())
    await bureau.make_due()

    async def away(tx: Any, timers: Any) -> Any:
        raise Unavailable("away")

    whole, bureau.firing._submit_due = bureau.firing._submit_due, away
    with pytest.raises(Unavailable):
        await bureau.firing.tick()
    bureau.firing._submit_due = whole
    assert await bureau.firing.tick() == 1
    assert await bureau.count("timers where tries = 0 and state = 'fired'") == 1


FLOOD = """
insert into timers (tenant_id, id, kind, source, state, occurred_at, due, payload, created_at)
select 'acme', gen_random_uuid(), 'trigger', 's' || n, 'waiting', now(), now() - interval '2 hours', ''::bytea, now()
from generate_series(1, 20000) n
union all
select 'tenant-' || n, gen_random_uuid(), 'trigger', 's', 'waiting', now(), now() - interval '1 hour', ''::bytea, now()
from generate_series(1, 999) n
"""


async def test_a_thousand_tenants_share_the_timers_fairly(bureau: Any) -> None:
    """One tenant's flood gets its share in each turn, and every other tenant has its turn in between."""
    await bureau.admin.execute(
        "insert into tenants (id, name, mode, status, wrapped_key, created_at, updated_at)"
        " select 'tenant-' || n, 'n', 'sandbox', case when n = 7 then 'suspended' else 'active' end, 'k', now(), now()"
        " from generate_series(1, 999) n"
    )
    await bureau.admin.execute(FLOOD)
    served: list[str] = []
    alone = asyncio.Lock()

    async def fire(tenant_id: str) -> int:
        served.append(tenant_id)
        async with alone:
            done = await bureau.admin.execute(
                "update timers set state = 'fired', ended_at = now() where tenant_id = $1 and id in ("
                "select id from timers where tenant_id = $1 and state = 'waiting' order by due limit $2)",
                tenant_id,
                SHARE,
            )
        return int(done.split()[-1])

    bureau.firing.fire = fire
    await bureau.firing.tick()
    others = {f"tenant-{n}" for n in range(1, 1000)} - {"tenant-7"}
    assert others <= set(served[:1000]), "everyone is served in the first turn"
    assert served[:1000].count("acme") <= 2
    assert served.count("acme") == 20_000 / SHARE
    assert "tenant-7" not in served, "a suspended tenant's timers wait"
    assert await bureau.count("timers where state = 'waiting'") == 1


async def test_a_throttle_counts_what_timers_send_too(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h", throttle={"max": 2, "per": "1h"})
    for number in range(5):
        event = tell(number)
        event.data["guest"] = {"id": "user-1", "email": "user-1@example.com"}
        await bureau.take(event)
    await bureau.make_due()
    assert await bureau.firing.tick() == 5
    assert await bureau.count("notifications where status = 8 and reason = 'throttled'") == 3
    assert await bureau.count("queue") == 2


async def test_everyone_with_the_tag_when_it_fires_is_told(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(recipient="tag:vip", offset="1h", event_type="sale")
    await bureau.trigger(event_type="t")
    for number in range(3):
        await bureau.take(tell(number))
    await bureau.take(tell(9, "sale"))
    await bureau.admin.execute(
        "insert into recipient_tags (tenant_id, recipient_id, tag)"
        " select tenant_id, id, 'vip' from recipients where external_id in ('user-1', 'user-2')"
    )
    before = await bureau.count("notifications")
    await bureau.make_due()
    assert await bureau.firing.tick() == 1
    assert await bureau.count("notifications") - before == 2


async def test_erasing_someone_ends_their_timers(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    await bureau.take(tell())
    await bureau.admin.execute("update recipients set data_key = null, erased_at = now()")
    await bureau.make_due()
    assert await bureau.firing.tick() == 1
    timer = await bureau.only_timer()
    assert (timer["state"], timer["reason"]) == ("skipped", "recipient_erased")
