"""Digests of what has a time of its own, and of what there may be news about."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from waypost.kernel.vault import place
from waypost.triggers.model import Event

Tell = Callable[..., Any]
START = datetime.now(UTC) + timedelta(days=9)


@pytest.fixture
async def stays(bureau: Any) -> Any:
    """Reminds of a stay when it begins; what begins within ten minutes of another goes together."""
    await bureau.publish("stays", text="{{ count }}: {% for one in events %}{{ one.room }} {% endfor %}")
    await bureau.trigger(
        template="stays", anchor="$.data.start", subject_key="$.data.booking", digest={"window": "10m"}
    )
    for kind in ("reschedules", "cancels"):
        await bureau.trigger(key=kind, event_type=kind, template=None, recipient=None, **{kind: "$.data.booking"})
    return bureau


def booked(tell: Tell, number: int, **data: Any) -> Event:
    return replace(tell(1, booking=f"b-{number}", start=START.isoformat(), room=f"r{number}", **data), id=f"e-{number}")


async def said(bureau: Any) -> list[dict[str, Any]]:
    """What the templates of all notifications read."""
    async with bureau.api_work.begin("acme") as tx:
        ids = [row["id"] for row in await bureau.admin.fetch("select id from notifications order by id")]
        stored = await bureau.joined.escalations._notifications.by_ids(tx, ids)
        key = await bureau.keyring.of(tx)
    found: list[dict[str, Any]] = []
    for each in ids:
        one = stored[each]
        person = key.unwrap(one.data_key, place("data_key", "acme", one.recipient_id))
        plain = person.open(one.payload, place("payload", "acme", one.id))
        found.append(_variables(msgspec.msgpack.decode(plain)))
    return found


def _variables(plain: Any) -> dict[str, Any]:
    """The part of a payload that has `events`, wherever it lies."""
    if isinstance(plain, dict) and "events" in plain:
        return plain
    for inner in plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ():
        if found := _variables(inner):
            return found
    return {}


async def test_what_comes_due_within_a_window_goes_together_by_the_latest_news(stays: Any, tell: Tell) -> None:
    for number in (1, 2, 3):
        await stays.take(booked(tell, number))
    assert await stays.count("timers where kind = 'digest'") == 0
    stays.clock.ahead = timedelta(days=9, seconds=1)
    assert await stays.firing.tick() == 3
    assert await stays.count("notifications") == 0
    assert await stays.count("timers where kind = 'trigger' and state = 'fired'") == 3
    await stays.take(replace(tell(1, "reschedules", 1, booking="b-2", room="suite"), id="moved"))
    await stays.take(replace(tell(1, "cancels", 1, booking="b-3"), id="gone"))
    stays.clock.ahead += timedelta(minutes=11)
    assert await stays.firing.tick() == 1
    [one] = await said(stays)
    assert ([each["room"] for each in one["events"]], one["count"]) == (["r1", "suite"], 2)
    assert await stays.count("digest_items") == 0


async def test_a_digest_of_which_all_was_cancelled_is_not_sent(stays: Any, tell: Tell) -> None:
    await stays.take(booked(tell, 1))
    stays.clock.ahead = timedelta(days=9, seconds=1)
    await stays.firing.tick()
    await stays.take(replace(tell(1, "cancels", 1, booking="b-1"), id="gone"))
    stays.clock.ahead += timedelta(minutes=11)
    await stays.firing.tick()
    row = await stays.admin.fetchrow("select state, reason from timers where kind = 'digest'")
    assert tuple(row) == ("cancelled", "cancelled_by_event")
    assert await stays.count("notifications") == 0


async def test_everyone_with_a_tag_has_a_window_of_their_own(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(recipient="tag:vip", offset="1h", digest={"window": "10m"})
    await bureau.trigger(key="known", event_type="known", template="reminder")
    for number in (1, 2):
        await bureau.take(tell(number, "known"))
    await bureau.admin.execute(
        "insert into recipient_tags (tenant_id, tag, recipient_id) select tenant_id, 'vip', id from recipients"
    )
    for number in (3, 4):
        await bureau.take(tell(number))
    before = await bureau.count("notifications")
    bureau.clock.ahead = timedelta(hours=1, seconds=1)
    while await bureau.firing.tick():
        pass
    rows = await bureau.admin.fetch("select collected from timers where kind = 'digest'")
    assert [row["collected"] for row in rows] == [2, 2]
    bureau.clock.ahead += timedelta(minutes=11)
    while await bureau.firing.tick():
        pass
    assert await bureau.count("notifications") - before == 2


async def test_a_throttle_without_a_key_counts_all_digests_of_a_person(bureau: Any, tell: Tell) -> None:
    await bureau.trigger(digest={"window": "10m", "key": "$.data.post"}, throttle={"max": 1, "per": "1h"})
    for post in "ab":
        await bureau.take(replace(tell(1, post=post), id=f"evt-{post}"))
    await bureau.make_due()
    assert await bureau.firing.tick() == 2
    assert await bureau.count("notifications where reason = 'throttled'") == 1
    assert await bureau.count("notifications") == 2
