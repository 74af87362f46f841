"""Due timers on a real database: fired once, in time, late-bound, fairly, whatever happens to whoever fires them."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.upkeep import PgUpkeep
from waypost.delivery.upkeep import KEPT, Purged
from waypost.kernel.errors import Unavailable
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Channel
from waypost.triggers.fire import SHARE

Tell = Callable[..., Any]


async def make_due(bureau: Any, ago: str = "1 second") -> None:
    await bureau.admin.execute("update timers set due = now() - $1::text::interval where state = 'waiting'", ago)


async def only_timer(bureau: Any) -> dict[str, Any]:
    return dict(await bureau.admin.fetchrow("select * from timers"))


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
    await make_due(bureau)
    fired = await asyncio.gather(*(bureau.another_firing().tick() for _ in range(4)))
    assert sum(fired) == 30
    assert await bureau.count("notifications") == 30
    assert await bureau.count("queue") == 30


async def test_template_address_and_trigger_are_those_of_the_moment_it_fires(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h", key="reminder")
    await bureau.take(tell())
    await bureau.publish("newer", text="Newer words")
    await bureau.change({"template": "newer"})
    await make_due(bureau)
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
        await make_due(bureau)
        assert await bureau.firing.tick() == 1
        timer = await only_timer(bureau)
        assert (timer["state"], timer["reason"]) == ("skipped", reason)
    assert await bureau.count("notifications") == 0


async def test_after_a_long_stand_still_only_what_is_within_grace_goes(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h", grace="2h")
    for number in range(4):
        await bureau.take(tell(number))
    await make_due(bureau, "119 minutes")
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
    await make_due(bureau)
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
    await make_due(bureau)
    await bureau.firing.tick()
    assert await bureau.count("timers where state = 'fired'") == 2
    for _ in range(12):
        await make_due(bureau)
        await bureau.firing.tick()
    row = await bureau.admin.fetchrow("select state, reason, tries from timers where id = $1", victim)
    assert tuple(row) == ("skipped", "failed", 10)


async def test_a_database_that_is_away_is_nobodys_fault(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    await bureau.take(tell())
    await make_due(bureau)

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


async def test_a_digest_goes_once_with_all_it_collected_and_the_next_event_opens_the_next(
    bureau: Any, tell: Tell
) -> None:
    await bureau.publish("digest", text="{{ count }}: {% for one in events %}{{ one.text }} {% endfor %}")
    await bureau.trigger(template="digest", digest={"window": "10m", "key": "$.data.post"})
    for text in "abc":
        await bureau.take(replace(tell(1, post="p", text=text), id=f"evt-{text}"))
    assert await bureau.count("timers") == 1
    await make_due(bureau)
    assert await bureau.firing.tick() == 1
    assert await bureau.count("notifications") == 1
    assert await bureau.count("digest_items") == 0
    late = tell(2, post="p", text="d")
    late.data["guest"] = {"id": "user-1", "email": "user-1@example.com"}
    await bureau.take(late)
    assert await bureau.count("timers where state = 'waiting' and collecting") == 1
    assert await bureau.count("timers") == 2


async def test_an_event_after_the_window_has_closed_opens_the_next_though_it_has_not_fired(
    bureau: Any, tell: Tell
) -> None:
    await bureau.trigger(digest={"window": "10m"})
    await bureau.take(tell(1))
    await make_due(bureau)
    late = tell(2)
    late.data["guest"] = {"id": "user-1", "email": "user-1@example.com"}
    await bureau.take(late)
    rows = await bureau.admin.fetch("select collecting, collected from timers order by id")
    assert [tuple(row) for row in rows] == [(False, 1), (True, 1)]
    assert await bureau.firing.tick() == 1


async def test_a_throttle_counts_what_timers_send_too(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h", throttle={"max": 2, "per": "1h"})
    for number in range(5):
        event = tell(number)
        event.data["guest"] = {"id": "user-1", "email": "user-1@example.com"}
        await bureau.take(event)
    await make_due(bureau)
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
    await make_due(bureau)
    assert await bureau.firing.tick() == 1
    assert await bureau.count("notifications") - before == 2


async def test_a_moved_timer_says_what_the_news_said(bureau: Any, tell: Tell) -> None:
    await bureau.publish("dated", text="On {{ start }}")
    await bureau.trigger(template="dated", anchor="$.data.start", subject_key="$.data.booking")
    await bureau.trigger(key="moved", event_type="changed", template=None, recipient=None, reschedules="$.data.booking")
    soon = datetime.now(UTC) + timedelta(days=3)
    await bureau.take(tell(1, booking="b", start=(soon + timedelta(days=9)).isoformat()))
    await bureau.take(tell(2, "changed", 1, booking="b", start=soon.isoformat()))
    timer = await only_timer(bureau)
    assert timer["due"] == soon
    bureau.clock.ahead = timedelta(days=3, seconds=1)
    assert await bureau.firing.tick() == 1
    [notification] = await bureau.admin.fetch("select id from notifications")
    async with bureau.api_work.begin("acme") as tx:
        stored = (await bureau.joined.escalations._notifications.by_ids(tx, [notification["id"]]))[notification["id"]]
        key = await bureau.keyring.of(tx)

    person = key.unwrap(stored.data_key, place("data_key", "acme", stored.recipient_id))
    assert soon.isoformat().encode() in person.open(stored.payload, place("payload", "acme", stored.id))


async def test_a_timer_that_has_fired_fires_again_where_its_trigger_says_so(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(anchor="$.data.start", subject_key="$.data.booking", refire=True)
    await bureau.trigger(key="moved", event_type="changed", template=None, recipient=None, reschedules="$.data.booking")
    start = datetime.now(UTC) + timedelta(hours=1)
    await bureau.take(tell(1, booking="b", start=start.isoformat()))
    bureau.clock.ahead = timedelta(hours=1, seconds=1)
    assert await bureau.firing.tick() == 1
    await bureau.take(tell(2, "changed", 1, booking="b", start=(start + timedelta(hours=5)).isoformat()))
    bureau.clock.ahead = timedelta(hours=6, seconds=1)
    assert await bureau.firing.tick() == 1
    assert await bureau.count("notifications") == 2


async def test_erasing_someone_ends_their_timers(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(offset="1h")
    await bureau.take(tell())
    await bureau.admin.execute("update recipients set data_key = null, erased_at = now()")
    await make_due(bureau)
    assert await bureau.firing.tick() == 1
    timer = await only_timer(bureau)
    assert (timer["state"], timer["reason"]) == ("skipped", "recipient_erased")


async def test_news_is_purged_only_when_nothing_waits_for_its_subject(bureau: Any, tell: Tell, database: Any) -> None:

    await bureau.trigger(anchor="$.data.start", subject_key="$.data.booking")
    await bureau.trigger(key="moved", event_type="changed", template=None, recipient=None, reschedules="$.data.booking")
    far = (datetime.now(UTC) + timedelta(days=90)).isoformat()
    await bureau.take(tell(1, booking="b", start=far))
    for number, booking in ((2, "b"), (3, "c")):
        await bureau.take(tell(number, "changed", 1, booking=booking, start=far))
    await bureau.admin.execute("update timer_news set kept_until = now() - interval '1 day'")
    await bureau.admin.execute("update consumed_events set received_at = now() - interval '31 days'")
    line = Line(database.worker, PoolOptions(application_name="upkeep", index_plans=True))
    upkeep = PgUpkeep(line)
    for what in (Purged.TIMER_NEWS, Purged.CONSUMED_EVENTS, Purged.TIMERS, Purged.THROTTLES, Purged.EVENT_FAILURES):
        while await upkeep.purge(what, KEPT[what]):
            pass
    await line.close()
    rows = await bureau.admin.fetch("select subject_key from timer_news")
    assert [row["subject_key"] for row in rows] == ["b"]
    assert await bureau.count("consumed_events") == 0
    assert await bureau.count("timers") == 1


async def test_an_escalation_goes_through_its_channels_until_seen(bureau: Any, tell: Tell) -> None:
    await bureau.publish("reminder", Channel.SMS)
    await bureau.trigger(key="both", channels=["email", "sms"], routing="until_seen", after="10m")
    event = tell()
    event.data["guest"]["phone"] = "+14155550123"
    await bureau.take(event)
    assert await bureau.count("notifications") == 1
    bureau.clock.ahead = timedelta(minutes=10, seconds=1)
    assert await bureau.firing.tick() == 1
    rows = await bureau.admin.fetch("select channel from notifications order by id")
    assert [row["channel"] for row in rows] == [Channel.EMAIL, Channel.SMS]
    assert (await only_timer(bureau))["state"] == "fired"
    assert await bureau.count("escalation_messages") == 2


async def test_where_the_first_channel_cannot_be_used_the_next_is_not_waited_for(bureau: Any, tell: Tell) -> None:
    await bureau.publish("reminder", Channel.SMS)
    await bureau.trigger(key="both", channels=["sms", "email"], routing="until_seen", after="10m")
    await bureau.take(tell())
    assert await bureau.firing.tick() == 1
    assert await bureau.count("queue where channel = 1") == 1


async def test_a_read_races_with_its_timer(bureau: Any, tell: Tell) -> None:
    """Whoever comes first decides; in neither order is anything sent after the read, nor anything left waiting."""
    await bureau.publish("reminder", Channel.SMS)
    await bureau.trigger(key="both", channels=["email", "sms"], routing="until_seen", after="10m")
    for number in range(24):
        event = tell(number)
        event.data["guest"]["phone"] = f"+1415555{number:04}"
        await bureau.take(event)
    sent = [row["id"] for row in await bureau.admin.fetch("select id from notifications order by id")]
    await make_due(bureau)

    async def read(notification: Any) -> None:
        async with bureau.api_work.begin("acme") as tx:
            await bureau.joined.escalations.seen(tx, notification)

    await asyncio.gather(bureau.firing.tick(), *(read(one) for one in sent), bureau.another_firing().tick())
    await asyncio.gather(*(read(one) for one in sent))
    assert await bureau.count("timers where state = 'waiting'") == 0
    # What had been escalated before the read was known is taken back as long as it has not gone out.
    assert await bureau.count("queue where channel = 2") == 0
    assert await bureau.count("notifications where channel = 2 and status <> 9") == 0
    assert await bureau.firing.tick() == 0


async def test_cancelling_the_message_cancels_what_would_follow(bureau: Any, tell: Tell) -> None:
    await bureau.publish("reminder", Channel.SMS)
    await bureau.trigger(key="both", channels=["email", "sms"], routing="until_seen", after="10m")
    await bureau.take(tell())
    async with bureau.api_work.begin("acme") as tx:
        await bureau.delivery.cancel(tx, [await bureau.admin.fetchval("select id from notifications")])
    await make_due(bureau)
    assert await bureau.firing.tick() == 1
    assert (await only_timer(bureau))["reason"] == "by_request"
    assert await bureau.count("notifications") == 1


async def test_any_interleaving_of_events_gives_the_same_timers(bureau: Any, tell: Tell) -> None:
    """Created, moved twice and cancelled or not, all at once and in any order: only what happened when counts."""
    await bureau.trigger(anchor="$.data.start", subject_key="$.data.booking")
    for key, kind, field in (("m", "changed", "reschedules"), ("c", "cancelled", "cancels")):
        await bureau.trigger(key=key, event_type=kind, template=None, recipient=None, **{field: "$.data.booking"})
    first = datetime.now(UTC).replace(microsecond=0) + timedelta(days=5)
    told = [("t", 0, 0), ("changed", 10, 3), ("cancelled", 20, None), ("changed", 30, 7), ("changed", 5, 9)]
    for turn in range(8):
        events = [
            replace(
                tell(1, kind, minutes, booking=f"b-{turn}")
                if days is None
                else tell(1, kind, minutes, booking=f"b-{turn}", start=(first + timedelta(days=days)).isoformat()),
                id=f"{turn}-{number}",
            )
            for number, (kind, minutes, days) in enumerate(told)
        ]
        Random(turn).shuffle(events)
        if turn % 2:
            await asyncio.gather(*(bureau.take(event) for event in events))
        else:
            for event in events:
                await bureau.take(event)
    rows = await bureau.admin.fetch("select state, due, moved_at is not null as moved from timers")
    assert {tuple(row) for row in rows} == {("waiting", first + timedelta(days=7), True)}
    assert len(rows) == 8
