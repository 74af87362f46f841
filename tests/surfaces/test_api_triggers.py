"""Triggers over the API, and the timers they set."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.booked_events import NOW, event, guest, in_days, publish, reminder, trigger

__all__ = ["reminder"]


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


async def test_a_trigger_keeps_what_it_says_about_tracking(acme: Any, reminder: str) -> None:
    made = await trigger(acme, tracking={"opens": False, "clicks": True})
    assert made["tracking"] == {"opens": False, "clicks": True}
    changed = await acme.ok("PATCH", f"/v1/triggers/{made['id']}", {"tracking": None})
    assert changed["tracking"] is None
    assert (await acme.ok("GET", f"/v1/triggers/{made['id']}"))["tracking"] is None
