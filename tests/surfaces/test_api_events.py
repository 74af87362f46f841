"""Events, triggers and timers over HTTP, on a real database."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.triggers.model import Event, Taken

NOW = datetime.now(UTC).replace(microsecond=0)


def event(number: int = 1, kind: str = "booking.created", **data: Any) -> dict[str, Any]:
    return {"id": f"evt-{number}", "type": kind, "occurred_at": NOW.isoformat(), "data": data}


def guest(number: int = 1) -> dict[str, str]:
    return {"id": f"user-{number}", "email": f"user-{number}@example.com"}


@pytest.fixture
async def reminder(acme: Any) -> str:
    return await publish(acme, "reminder")


async def publish(caller: Any, key: str, text: str = "About {{ booking_id }}", channel: str = "email") -> str:
    words = (
        {"subject": "A word", "body": text, "format": "text"}
        if channel == "email"
        else {"body": text, "format": "text"}
    )
    await caller.ok("POST", "/v1/templates", {"key": key, "channel": channel, "category": "operational", "name": key})
    drafted = await caller.ok("POST", f"/v1/templates/{key}/{channel}/versions", {"locales": {"en": words}})
    await caller.ok("POST", f"/v1/templates/{key}/{channel}/versions/{drafted['semver']}/publish")
    return key


async def trigger(caller: Any, **fields: Any) -> dict[str, Any]:
    usual = {"event_type": "booking.created", "template": "reminder", "recipient": "$.data.guest"}
    return await caller.ok("POST", "/v1/triggers", usual | fields)


def in_days(days: float) -> str:
    return (NOW + timedelta(days=days)).isoformat()


async def test_an_event_starts_a_message_once(acme: Any, reminder: str) -> None:
    await trigger(acme)
    told = event(guest=guest(), booking_id="b-7")
    first = await acme.ok("POST", "/v1/events", told)
    assert first["accepted"] is True
    assert [one["recipient_id"] for one in first["notifications"]] == ["user-1"]
    assert first["counts"]["notifications"] == 1
    again = await acme.ok("POST", "/v1/events", told)
    assert (again["accepted"], again["notifications"], again["counts"]["duplicates"]) == (True, [], 1)
    content = await acme.ok("GET", f"/v1/notifications/{first['notifications'][0]['id']}/content")
    assert "About b-7" in content["text"]
    other = await acme.ok("POST", "/v1/events", told | {"consumer": "elsewhere"})
    assert other["counts"]["notifications"] == 1


async def test_the_same_event_a_hundred_times_at_once_gives_one_notification(acme: Any, reminder: str) -> None:
    await trigger(acme)
    told = Event(id="evt-1", type="booking.created", occurred_at=NOW, data={"guest": guest(), "booking_id": "b-7"})
    app, scope = acme.app, await acme.app.access.authenticate(acme.key, None, "rid_test")

    async def take() -> Taken:
        async with app.work.begin("acme") as tx:
            return await app.events.events.take(tx, scope, told)

    answers = await asyncio.gather(*(take() for _ in range(100)))
    assert sum(answer.counts.notifications for answer in answers) == 1
    assert sum(answer.duplicate for answer in answers) == 99
    assert len((await acme.ok("GET", "/v1/notifications?recipient_id=user-1"))["items"]) == 1


async def test_two_triggers_of_one_event_both_send(acme: Any, reminder: str) -> None:
    await publish(acme, "receipt")
    await trigger(acme)
    await trigger(acme, template="receipt")
    taken = await acme.ok("POST", "/v1/events", event(guest=guest(), booking_id="b"))
    assert taken["counts"]["notifications"] == 2


async def test_an_event_that_cannot_be_followed_is_refused_whole(acme: Any, reminder: str) -> None:
    await publish(acme, "receipt", "For {{ nobody_knows }}")
    await trigger(acme)
    broken = await trigger(acme, template="receipt")
    told = event(guest=guest(), booking_id="b")
    status, code, pointers = await acme.refused("POST", "/v1/events", told)
    assert (status, code, pointers) == (422, "missing_variable", ["/data/nobody_knows"])
    assert (await acme.ok("GET", "/v1/notifications"))["items"] == []
    await acme.ok("PATCH", f"/v1/triggers/{broken['id']}", {"enabled": False})
    assert (await acme.ok("POST", "/v1/events", told))["counts"]["notifications"] == 1


@pytest.mark.parametrize(
    ("guest_data", "code", "pointer"),
    [
        (None, "recipient_missing", "/data/guest"),
        (True, "wrong_type", "/data/guest"),
        ("stranger", "unknown_recipient", "/data/guest"),
        ({"id": "u", "email": "not an address"}, "invalid_address", "/data/guest/email"),
        ([{"id": "u", "email": "a@example.com"}, {"email": 7}], "wrong_type", "/data/guest/1/email"),
    ],
)
async def test_a_recipient_that_cannot_be_found_is_named(
    acme: Any, reminder: str, guest_data: Any, code: str, pointer: str
) -> None:
    await trigger(acme)
    answer = await acme("POST", "/v1/events", event(guest=guest_data, booking_id="b"))
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["errors"][0]["pointer"]) == (422, code, pointer)
    assert "booking.created:reminder:email" in problem["detail"]


async def test_bad_triggers_are_refused_with_the_field_named(acme: Any, reminder: str) -> None:
    usual = {"event_type": "booking.created", "template": "reminder", "recipient": "$.data.guest"}
    for fields, code, pointer in [
        ({"template": "missing"}, "unknown_template", "/template"),
        ({"category": "transactional"}, "category_mismatch", "/category"),
        ({"anchor": "data.start"}, "invalid_path", "/anchor"),
        ({"recipient": "everyone"}, "unknown_resolver", "/recipient"),
        ({"offset": "soon"}, "invalid_duration", "/offset"),
        ({"channels": ["email", "sms"], "routing": "until_seen", "after": "1m"}, "unknown_template", "/channels/1"),
    ]:
        assert await acme.refused("POST", "/v1/triggers", usual | fields) == (422, code, [pointer])
    await acme.ok("POST", "/v1/triggers", usual)
    assert (await acme.refused("POST", "/v1/triggers", usual))[:2] == (409, "key_taken")


async def test_a_trigger_is_read_changed_and_removed(acme: Any, reminder: str) -> None:
    made = await trigger(acme, offset="2h", grace="1h")
    assert (made["key"], made["scope"], made["enabled"]) == ("booking.created:reminder:email", "tenant", True)
    path = f"/v1/triggers/{made['id']}"
    stale = await acme("PATCH", path, {"offset": "3h"}, headers={"If-Match": '"7"'})
    assert stale.status_code == 412
    changed = await acme.ok("PATCH", path, {"offset": "3h", "grace": None}, headers={"If-Match": '"1"'})
    assert (changed["offset"], changed["grace"], changed["version"]) == ("3h", None, 2)
    assert (await acme.refused("PATCH", path, {"offset": "soon"}))[1] == "invalid_duration"
    listed = await acme.ok("GET", "/v1/triggers?event_type=booking.created")
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    await acme.ok("DELETE", path)
    assert (await acme("GET", path)).status_code == 404
    actions = [entry["action"] for entry in (await acme.ok("GET", "/v1/audit"))["items"]]
    assert {"trigger.created", "trigger.changed", "trigger.removed"} <= set(actions)


async def test_the_platforms_triggers_hold_for_everyone_until_a_tenant_stands_in(
    platform: Any, acme: Any, globex: Any
) -> None:
    for caller in (platform, acme, globex):
        await publish(caller, "reminder")
    await publish(acme, "own")
    theirs = await trigger(platform, key="welcome")
    assert theirs["scope"] == "platform"
    for number, caller in enumerate((acme, globex), 1):
        assert (await caller.ok("POST", "/v1/events", event(number, guest=guest(), booking_id="b")))["counts"][
            "notifications"
        ] == 1
        assert (await caller.refused("PATCH", f"/v1/triggers/{theirs['id']}", {"enabled": False}))[:2] == (
            409,
            "platform_trigger",
        )
    await trigger(acme, key="welcome", template="own")
    listed = (await acme.ok("GET", "/v1/triggers"))["items"]
    assert {(one["scope"], one["overridden"]) for one in listed} == {("tenant", False), ("platform", True)}
    taken = await acme.ok("POST", "/v1/events", event(5, guest=guest(), booking_id="b"))
    assert taken["counts"]["notifications"] == 1
    shown = await acme.ok("GET", f"/v1/notifications/{taken['notifications'][0]['id']}")
    assert shown["template"] == "own"
    assert (await globex.ok("GET", f"/v1/triggers/{theirs['id']}"))["overridden"] is False


async def test_a_timer_waits_moves_and_dies_with_its_subject(acme: Any, reminder: str) -> None:
    await trigger(acme, anchor="$.data.start", offset="-2d", subject_key="$.data.booking_id")
    await acme.ok("POST", "/v1/triggers", {"event_type": "booking.changed", "reschedules": "$.data.booking_id"})
    await acme.ok("POST", "/v1/triggers", {"event_type": "booking.cancelled", "cancels": "$.data.booking_id"})
    taken = await acme.ok("POST", "/v1/events", event(guest=guest(), booking_id="b-7", start=in_days(10)))
    assert taken["counts"]["timers"] == 1
    [timer] = taken["timers"]
    assert (timer["state"], timer["recipient"], timer["subject_key"]) == ("pending", "user-1", "b-7")
    assert datetime.fromisoformat(timer["due"]) == NOW + timedelta(days=8)
    moved = await acme.ok("POST", "/v1/events", event(2, "booking.changed", booking_id="b-7", start=in_days(20)))
    assert moved["counts"]["moved"] == 1
    [shown] = (await acme.ok("GET", "/v1/timers?subject_key=b-7&recipient=user-1"))["items"]
    assert (shown["id"], shown["state"]) == (timer["id"], "moved")
    assert datetime.fromisoformat(shown["due"]) == NOW + timedelta(days=18)
    gone = await acme.ok("POST", "/v1/events", event(3, "booking.cancelled", booking_id="b-7"))
    assert gone["counts"]["cancelled"] == 1
    dropped = await acme.ok("GET", f"/v1/timers/{timer['id']}")
    assert (dropped["state"], dropped["reason"]) == ("cancelled", "cancelled_by_event")
    assert (await acme.ok("GET", "/v1/timers?recipient=nobody"))["items"] == []
    assert (await acme.ok("GET", "/v1/timers?state=cancelled"))["items"] != []
    assert (await acme.ok("GET", "/v1/timers?state=pending"))["items"] == []


async def test_news_that_comes_before_its_timers_still_counts(acme: Any, reminder: str) -> None:
    await trigger(acme, anchor="$.data.start", offset="-2d", subject_key="$.data.booking_id")
    await acme.ok("POST", "/v1/triggers", {"event_type": "booking.changed", "reschedules": "$.data.booking_id"})
    await acme.ok("POST", "/v1/triggers", {"event_type": "booking.cancelled", "cancels": "$.data.booking_id"})
    for number, kind, minutes, start in [
        (1, "booking.changed", 30, in_days(30)),
        (2, "booking.changed", 10, in_days(20)),
        (3, "booking.created", 0, in_days(10)),
    ]:
        told = event(number, kind, guest=guest(), booking_id="b", start=start)
        await acme.ok("POST", "/v1/events", told | {"occurred_at": (NOW + timedelta(minutes=minutes)).isoformat()})
    [timer] = (await acme.ok("GET", "/v1/timers?subject_key=b"))["items"]
    assert timer["state"] == "moved"
    assert datetime.fromisoformat(timer["due"]) == NOW + timedelta(days=28)
    gone = event(4, "booking.cancelled", booking_id="c")
    await acme.ok("POST", "/v1/events", gone | {"occurred_at": (NOW + timedelta(minutes=1)).isoformat()})
    taken = await acme.ok("POST", "/v1/events", event(5, guest=guest(), booking_id="c", start=in_days(10)))
    assert (taken["timers"][0]["state"], taken["timers"][0]["reason"]) == ("cancelled", "cancelled_by_event")


@pytest.mark.parametrize(
    ("start", "state", "reason"),
    [
        (None, "skipped", "anchor_missing"),
        ("next week", "skipped", "anchor_invalid"),
        (1, "skipped", "too_late"),
        (1.9, "pending", None),
        (4000, "skipped", "too_far_ahead"),
    ],
)
async def test_an_anchor_that_is_missing_or_past_is_kept_with_its_reason(
    acme: Any, reminder: str, start: str | float | None, state: str, reason: str | None
) -> None:
    await trigger(acme, anchor="$.data.start", offset="-2d")
    data = {} if start is None else {"start": start if isinstance(start, str) else in_days(start)}
    await acme.ok("POST", "/v1/events", event(guest=guest(), booking_id="b", **data))
    [timer] = (await acme.ok("GET", "/v1/timers?recipient=user-1"))["items"]
    assert (timer["state"], timer["reason"]) == (state, reason)


async def test_a_timer_is_dropped_by_hand_for_good(acme: Any, reminder: str) -> None:
    await trigger(acme, anchor="$.data.start", subject_key="$.data.booking_id")
    await acme.ok("POST", "/v1/triggers", {"event_type": "booking.changed", "reschedules": "$.data.booking_id"})
    taken = await acme.ok("POST", "/v1/events", event(guest=guest(), booking_id="b", start=in_days(3)))
    path = f"/v1/timers/{taken['timers'][0]['id']}"
    for _ in range(2):
        assert (await acme.ok("POST", f"{path}/cancel"))["reason"] == "by_request"
    await acme.ok("POST", "/v1/events", event(2, "booking.changed", booking_id="b", start=in_days(5)))
    assert (await acme.ok("GET", path))["state"] == "cancelled"


async def test_events_in_bulk_are_taken_each_on_its_own(acme: Any, reminder: str) -> None:
    await trigger(acme)
    good = [event(number, guest=guest(number), booking_id="b") for number in range(20)]
    bad = [{"id": "x"}, event(30, guest="stranger"), {**event(31), "occurred_at": "yesterday"}, good[0]]
    answer = await acme.ok("POST", "/v1/events/bulk", [*good[:10], *bad, *good[10:]])
    assert answer["accepted"] == 21
    assert answer["counts"]["notifications"] == 20
    assert answer["counts"]["duplicates"] == 1
    assert [one["index"] for one in answer["refused"]] == [10, 11, 12]
    assert [one["error"]["errors"][0]["pointer"] for one in answer["refused"]] == [
        "/type",
        "/data/guest",
        "/occurred_at",
    ]
    lines = b"\n".join(json.dumps(one).encode() for one in [event(40, guest=guest(), booking_id="c"), *good])
    again = await acme.ok("POST", "/v1/events/bulk", lines, headers={"Content-Type": "application/x-ndjson"})
    assert (again["accepted"], again["counts"]["duplicates"]) == (21, 20)


async def test_an_event_without_triggers_is_taken_in(acme: Any) -> None:
    taken = await acme.ok("POST", "/v1/events", event(kind="nothing.happens"))
    assert set(taken["counts"].values()) == {0}


async def test_everyone_with_a_tag_or_role_is_told(acme: Any, reminder: str) -> None:
    for number in range(3):
        await acme.ok("PUT", f"/v1/recipients/user-{number}", {"email": f"user-{number}@example.com"})
    for number, tag in ((0, "vip"), (1, "vip"), (1, "role:admin"), (2, "role:editor")):
        await acme.ok("POST", f"/v1/recipients/user-{number}/tags", {"tags": [tag]})
    for number, (recipient, told) in enumerate(
        [
            ("tag:vip", {"user-0", "user-1"}),
            ("tenant_admins", {"user-1"}),
            ("role:editor", {"user-2"}),
            ("tag:no", set()),
        ]
    ):
        await trigger(acme, event_type=f"t.{number}", recipient=recipient)
        taken = await acme.ok("POST", "/v1/events", event(number, f"t.{number}", booking_id="b"))
        assert {one["recipient_id"] for one in taken["notifications"]} == told


async def test_throttled_messages_are_suppressed_exactly(acme: Any, reminder: str) -> None:
    await trigger(acme, throttle={"max": 3, "per": "1h"})
    events = [event(number, guest=guest(), booking_id="b") for number in range(12)]
    answers = await asyncio.gather(*(acme("POST", "/v1/events", one) for one in events))
    made = [one for answer in answers for one in answer.json()["notifications"]]
    assert len(made) == 12
    assert sum(one["status"] == "queued" for one in made) == 3
    assert {one.get("reason") for one in made if one["status"] == "suppressed"} == {"throttled"}
    bulk = await acme.ok(
        "POST", "/v1/events/bulk", [event(100 + n, guest=guest(n % 2 + 1), booking_id="b") for n in range(10)]
    )
    assert (bulk["counts"]["notifications"], bulk["counts"]["suppressed"]) == (10, 7)


async def test_two_events_in_one_second_open_one_window(acme: Any) -> None:
    await publish(acme, "digest", "{{ count }} new: {% for one in events %}{{ one.text }} {% endfor %}")
    await trigger(acme, template="digest", digest={"window": "10m", "key": "$.data.post"})
    events = [event(number, guest=guest(), post="p", text=f"t{number}") for number in range(8)]
    answers = await asyncio.gather(*(acme("POST", "/v1/events", one) for one in events))
    timers = [timer for answer in answers for timer in answer.json()["timers"]]
    assert len({timer["id"] for timer in timers}) == 1
    assert sorted(timer["collected"] for timer in timers) == list(range(1, 9))
    other = await acme.ok("POST", "/v1/events", event(20, guest=guest(), post="q", text="x"))
    assert other["timers"][0]["id"] != timers[0]["id"]
    listed = (await acme.ok("GET", "/v1/timers?recipient=user-1"))["items"]
    assert sorted(one["collected"] for one in listed) == [1, 8]
    assert {one["kind"] for one in listed} == {"digest"}


async def test_a_trigger_may_be_all_at_once(acme: Any) -> None:
    await publish(acme, "reminder")
    written = {
        "event_type": "booking.created",
        "channel": "email",
        "template": "reminder",
        "category": "operational",
        "recipient": "$.data.guest",
        "anchor": "$.data.stay_start",
        "offset": "-2d",
        "subject_key": "$.data.booking_id",
        "digest": {"window": "10m", "key": "$.data.post"},
        "throttle": {"max": 1, "per": "1h"},
    }
    made = await acme.ok("POST", "/v1/triggers", written)
    assert {name: made[name] for name in written} == written | {"throttle": {"max": 1, "per": "1h", "key": None}}
    told = await acme.ok("POST", "/v1/events", event(guest=guest(), booking_id="b", stay_start=in_days(9)))
    [timer] = told["timers"]
    assert (timer["kind"], timer["state"], told["counts"]["digested"]) == ("trigger", "pending", 0)


async def test_until_seen_waits_for_a_read(acme: Any, reminder: str) -> None:
    await publish(acme, "reminder", "About it", "sms")
    send = {
        "to": {"id": "user-1", "email": "user-1@example.com", "phone": "+14155550123"},
        "template": "reminder",
        "variables": {"booking_id": "b"},
        "channels": ["email", "sms"],
        "routing": "until_seen",
        "after": "10m",
    }
    made = (await acme.ok("POST", "/v1/notifications", send))["notifications"]
    assert [one["channel"] for one in made] == ["email"]
    [timer] = (await acme.ok("GET", "/v1/timers?recipient=user-1"))["items"]
    assert (timer["kind"], timer["state"]) == ("escalation", "pending")
    seen = await acme.ok("POST", f"/v1/notifications/{made[0]['id']}/seen")
    assert seen == {"id": made[0]["id"], "escalation_ended": True, "cancelled": []}
    assert (await acme.ok("GET", f"/v1/timers/{timer['id']}"))["reason"] == "seen"
    again = await acme.ok("POST", f"/v1/notifications/{made[0]['id']}/seen")
    assert again["escalation_ended"] is False
    steps = (await acme.ok("GET", f"/v1/notifications/{made[0]['id']}/timeline"))["items"]
    assert "seen" in [step["event"] for step in steps]
    for fields, pointer in [
        ({"after": None}, "/after"),
        ({"after": "soon"}, "/after"),
        ({"channels": ["email"]}, "/channels"),
        ({"routing": "all"}, "/after"),
        ({"channels": ["email", "push"]}, "/channels/1"),
    ]:
        assert (await acme.refused("POST", "/v1/notifications", send | fields))[2] == [pointer]


async def test_tenants_do_not_see_each_others_events(acme: Any, globex: Any, reminder: str) -> None:
    made = await trigger(acme, anchor="$.data.start", subject_key="$.data.booking_id")
    told = event(guest=guest(), booking_id="b", start=in_days(3))
    taken = await acme.ok("POST", "/v1/events", told)
    assert set((await globex.ok("POST", "/v1/events", told))["counts"].values()) == {0}
    assert (await globex.ok("GET", "/v1/triggers"))["items"] == []
    assert (await globex.ok("GET", "/v1/timers?subject_key=b"))["items"] == []
    for method, path in [
        ("GET", f"/v1/triggers/{made['id']}"),
        ("DELETE", f"/v1/triggers/{made['id']}"),
        ("GET", f"/v1/timers/{taken['timers'][0]['id']}"),
        ("POST", f"/v1/timers/{taken['timers'][0]['id']}/cancel"),
    ]:
        assert (await globex(method, path)).status_code == 404


async def test_erasing_someone_ends_what_was_planned_for_them(acme: Any, reminder: str) -> None:
    await trigger(acme, offset="30d")
    taken = await acme.ok("POST", "/v1/events", event(guest=guest(), booking_id="b"))
    await acme.ok("DELETE", "/v1/recipients/user-1")
    timer = await acme.ok("GET", f"/v1/timers/{taken['timers'][0]['id']}")
    assert (timer["state"], timer["reason"]) == ("cancelled", "recipient_erased")


async def test_a_trigger_keeps_what_it_says_about_tracking(acme: Any, reminder: str) -> None:
    made = await trigger(acme, tracking={"opens": False, "clicks": True})
    assert made["tracking"] == {"opens": False, "clicks": True}
    changed = await acme.ok("PATCH", f"/v1/triggers/{made['id']}", {"tracking": None})
    assert changed["tracking"] is None
    assert (await acme.ok("GET", f"/v1/triggers/{made['id']}"))["tracking"] is None
