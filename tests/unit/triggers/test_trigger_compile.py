"""From a trigger as written to what it means, or to every fault in it."""

from typing import Any

import msgspec
import pytest

from waypost.kernel.durations import Duration
from waypost.kernel.errors import Refused
from waypost.kernel.tracking import Tracking
from waypost.kernel.vocabulary import Channel
from waypost.notifications.model import Routing
from waypost.triggers.compile import ADMIN_TAGS, USUAL_GRACE, compile_spec, default_key
from waypost.triggers.model import Rule, TriggerSpec
from waypost.triggers.now import command_of

SENDS = {"event_type": "booking.created", "template": "reminder", "recipient": "$.data.guest"}
NOTHING_SENT = {"template": None, "recipient": None}


def compiled(**fields: Any) -> Rule:
    spec = msgspec.convert(SENDS | fields, TriggerSpec)
    return compile_spec(spec, default_key(spec))


def faults(**fields: Any) -> set[tuple[str, str]]:
    with pytest.raises(Refused) as refused:
        compiled(**fields)
    return {(error.pointer, error.code) for error in refused.value.errors}


def test_the_shape_of_the_documents() -> None:
    rule = compiled(
        channel="email", category="reminder", anchor="$.data.stay_start", offset="-2d",
        subject_key="$.data.booking_id", throttle={"max": 1, "per": "1h"},
    )  # fmt: skip
    assert rule.tells is None
    assert rule.sends is not None
    assert rule.sends.schedule is not None
    assert rule.sends.schedule.offset == Duration(days=-2)
    assert rule.sends.grace == USUAL_GRACE
    assert rule.sends.channels == (Channel.EMAIL,)


def test_what_an_event_tells_about_a_subject() -> None:
    for name, cancels in (("reschedules", False), ("cancels", True)):
        spec = TriggerSpec(event_type="booking.changed", **{name: "$.data.booking_id"})
        rule = compile_spec(spec, default_key(spec))
        assert rule.sends is None
        assert rule.tells is not None
        assert (rule.tells.cancels, rule.tells.subject.pointer) == (cancels, "/data/booking_id")


@pytest.mark.parametrize(
    ("recipient", "tags", "pointer"),
    [
        ("$.data.guest", (), "/data/guest"),
        ("primary", (), "/data/recipient"),
        ("tenant_admins", ADMIN_TAGS, None),
        ("role:editor", ("role:editor",), None),
        ("tag:vip", ("vip",), None),
    ],
)
def test_resolvers(recipient: str, tags: tuple[str, ...], pointer: str | None) -> None:
    sends = compiled(recipient=recipient).sends
    assert sends is not None
    assert sends.who.tags == tags
    assert (sends.who.path.pointer if sends.who.path else None) == pointer


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"recipient": "everybody"}, {("/recipient", "unknown_resolver")}),
        ({"recipient": "tag:"}, {("/recipient", "unknown_resolver")}),
        ({"recipient": "role:" + "x" * 64}, {("/recipient", "unknown_resolver")}),
        ({"recipient": "$.data..x"}, {("/recipient", "invalid_path")}),
        ({"recipient": None}, {("/recipient", "required")}),
        ({"event_type": "booking created"}, {("/event_type", "invalid_event_type"), ("/key", "invalid_key")}),
        (NOTHING_SENT, {("/template", "required")}),
        (NOTHING_SENT | {"reschedules": "$.data.x", "offset": "1h"}, {("/offset", "needs_template")}),
        ({"reschedules": "$.data.a", "cancels": "$.data.a"}, {("/cancels", "conflicting")}),
        ({"cancels": "data.a"}, {("/cancels", "invalid_path")}),
        ({"anchor": "$.", "offset": "2 days"}, {("/anchor", "invalid_path"), ("/offset", "invalid_duration")}),
        ({"offset": "-6000d"}, {("/offset", "out_of_range")}),
        ({"offset": "1h", "at": "9 am"}, {("/at", "invalid_time")}),
        ({"offset": "1h", "timezone": "America"}, {("/timezone", "invalid_timezone")}),
        ({"at": "09:00"}, {("/at", "needs_schedule")}),
        ({"subject_key": "$.data.b"}, {("/subject_key", "needs_schedule")}),
        ({"offset": "1h", "refire": True}, {("/refire", "needs_subject")}),
        ({"digest": {"window": "0s"}}, {("/digest/window", "out_of_range")}),
        ({"digest": {"window": "10m", "key": "post"}}, {("/digest/key", "invalid_path")}),
        ({"throttle": {"max": 0, "per": "1h"}}, {("/throttle/max", "out_of_range")}),
        ({"throttle": {"max": 1, "per": "soon"}}, {("/throttle/per", "invalid_duration")}),
        ({"channel": "email", "channels": ["sms"]}, {("/channels", "conflicting")}),
        ({"channels": ["sms", "sms"]}, {("/channels", "duplicate")}),
        ({"channels": ["inapp", "email"], "routing": "until_seen"}, {("/after", "required")}),
        ({"routing": "until_seen", "after": "10m"}, {("/channels", "required")}),
        ({"after": "10m"}, {("/after", "needs_until_seen")}),
        ({"variables": {"a/b": "$.x["}}, {("/variables/a~1b", "invalid_path")}),
        ({"variables": {"a": "x" * 20_000}}, {("/variables", "too_large")}),
    ],
)  # fmt: skip
def test_every_fault_is_named(fields: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    assert faults(**fields) == expected


def test_until_seen() -> None:
    sends = compiled(channels=["inapp", "email"], routing="until_seen", after="10m").sends
    assert sends is not None
    assert (sends.routing, sends.after) == (Routing.UNTIL_SEEN, Duration(seconds=600))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, Tracking()),
        ({}, Tracking()),
        ({"opens": False}, Tracking(opens=False)),
        ({"opens": True, "clicks": False}, Tracking(opens=True, clicks=False)),
    ],
)
def test_a_trigger_says_what_is_noticed_as_a_call_does(said: Any, meant: Tracking) -> None:
    sends = compiled(tracking=said).sends
    assert sends is not None
    assert sends.tracking == meant
    assert command_of(sends, "evt:1", [], {}).tracking == meant


def test_what_would_be_noticed_of_nothing_is_refused() -> None:
    assert ("/tracking", "needs_template") in faults(template=None, cancels="$.data.id", tracking={"opens": True})
