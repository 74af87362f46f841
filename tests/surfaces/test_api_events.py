"""Events, triggers and timers over HTTP, on a real database."""

import asyncio
import json
from typing import Any

import pytest
from tests.booked_events import NOW, event, guest, in_days, publish, reminder, trigger

from waypost.triggers.model import Event, Taken

__all__ = ["reminder"]


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
