"""Timers that move, collect, go on until seen, and are forgotten when their time is over."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.upkeep import PgUpkeep
from waypost.delivery.upkeep import KEPT, Purged
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Channel

Tell = Callable[..., Any]


async def test_a_digest_goes_once_with_all_it_collected_and_the_next_event_opens_the_next(
    bureau: Any, tell: Tell
) -> None:
    await bureau.publish("digest", text="{{ count }}: {% for one in events %}{{ one.text }} {% endfor %}")
    await bureau.trigger(template="digest", digest={"window": "10m", "key": "$.data.post"})
    for text in "abc":
        await bureau.take(replace(tell(1, post="p", text=text), id=f"evt-{text}"))
    assert await bureau.count("timers") == 1
    await bureau.make_due()
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
    await bureau.make_due()
    late = tell(2)
    late.data["guest"] = {"id": "user-1", "email": "user-1@example.com"}
    await bureau.take(late)
    rows = await bureau.admin.fetch("select collecting, collected from timers order by id")
    assert [tuple(row) for row in rows] == [(False, 1), (True, 1)]
    assert await bureau.firing.tick() == 1


async def test_a_moved_timer_says_what_the_news_said(bureau: Any, tell: Tell) -> None:
    await bureau.publish("dated", text="On {{ start }}")
    await bureau.trigger(template="dated", anchor="$.data.start", subject_key="$.data.booking")
    await bureau.trigger(key="moved", event_type="changed", template=None, recipient=None, reschedules="$.data.booking")
    soon = datetime.now(UTC) + timedelta(days=3)
    await bureau.take(tell(1, booking="b", start=(soon + timedelta(days=9)).isoformat()))
    await bureau.take(tell(2, "changed", 1, booking="b", start=soon.isoformat()))
    timer = await bureau.only_timer()
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
    assert (await bureau.only_timer())["state"] == "fired"
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
    await bureau.make_due()

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
    await bureau.make_due()
    assert await bureau.firing.tick() == 1
    assert (await bureau.only_timer())["reason"] == "by_request"
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
