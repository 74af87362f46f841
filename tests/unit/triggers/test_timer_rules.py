"""When a timer is due, and that news about its subject counts the same in whatever order it arrives."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.triggers.compile import compile_spec
from waypost.triggers.model import Event, News, Reason, Sends, Timer, TimerKind, TimerState, TriggerSpec
from waypost.triggers.paths import read_path
from waypost.triggers.replan import can_be_replanned, planned
from waypost.triggers.rules import (
    Dropped,
    Due,
    check_event,
    key_at,
    latest,
    plan,
    read_anchor,
    targets_of,
    variables_of,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VIENNA = ZoneInfo("Europe/Vienna")
SCHEDULED: dict[str, Any] = {"anchor": "$.data.start", "offset": "-2d", "subject_key": "$.data.booking"}


def sends(**fields: Any) -> Sends:
    usual = {"event_type": "booking.created", "template": "t", "recipient": "$.data.guest"}
    rule = compile_spec(msgspec.convert(usual | fields, TriggerSpec), "k")
    assert rule.sends is not None
    return rule.sends


def event(number: int = 1, minutes: float = 0, **data: Any) -> Event:
    return Event(id=f"e{number}", type="t", occurred_at=NOW + timedelta(minutes=minutes), data={"booking": "b", **data})


def news(number: int, minutes: float, *, cancels: bool = False, **data: Any) -> News:
    return News(subject_key="b", event=event(number, minutes, **data), cancels=cancels)


def due(outcome: Due | Dropped) -> datetime:
    assert isinstance(outcome, Due)
    return outcome.at


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-29T10:00:00Z", datetime(2026, 3, 29, 10, tzinfo=UTC)),
        ("2026-03-29T10:00:00+02:00", datetime(2026, 3, 29, 8, tzinfo=UTC)),
        ("2026-03-29T10:00:00.5z", datetime(2026, 3, 29, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-03-29T10:00", datetime(2026, 3, 29, 8, tzinfo=UTC)),
        ("2026-03-29 01:30", datetime(2026, 3, 29, 0, 30, tzinfo=UTC)),
        ("2026-03-29T02:30", datetime(2026, 3, 29, 1, tzinfo=UTC)),
        ("2026-03-29", datetime(2026, 3, 28, 23, tzinfo=UTC)),
        ("29.3.2026", None),
        ("", None),
        (1_774_000_000, None),
        (None, None),
        (["2026-03-29"], None),
    ],
)
def test_anchors_are_times_local_times_or_dates(text: Any, moment: datetime | None) -> None:
    assert read_anchor(text, VIENNA) == moment


@pytest.mark.parametrize("text", ["2026-13-29", "2026-03-29T25:00:00Z", "0000-00-00", "2026-02-30T00:00:00"])
def test_a_moment_that_does_not_exist_is_no_anchor(text: str) -> None:
    outcome = plan(sends(**SCHEDULED), event(start=text), (), VIENNA, NOW)
    assert outcome == Dropped(reason=Reason.ANCHOR_INVALID)


def test_days_are_counted_by_the_tenants_calendar_and_at_sets_the_hour() -> None:
    # Two calendar days before Monday midnight, across the night in which the clocks are put forward.
    told = event(start="2026-03-30")
    assert due(plan(sends(**SCHEDULED), told, (), VIENNA, NOW)) == datetime(2026, 3, 27, 23, tzinfo=UTC)
    at_nine = sends(**SCHEDULED, at="09:00")
    assert due(plan(at_nine, told, (), VIENNA, NOW)) == datetime(2026, 3, 28, 8, tzinfo=UTC)
    elsewhere = sends(**SCHEDULED, at="09:00", timezone="America/New_York")
    assert due(plan(elsewhere, told, (), VIENNA, NOW)) == datetime(2026, 3, 28, 13, tzinfo=UTC)


def test_without_an_anchor_the_events_own_time_counts() -> None:
    assert due(plan(sends(offset="90m"), event(), (), VIENNA, NOW)) == NOW + timedelta(minutes=90)


def test_late_is_sent_within_grace_and_skipped_after_it() -> None:
    start = (NOW + timedelta(days=2) - timedelta(hours=5)).isoformat()
    assert due(plan(sends(**SCHEDULED), event(start=start), (), ZoneInfo("UTC"), NOW)) == NOW - timedelta(hours=5)
    strict = plan(sends(**SCHEDULED, grace="4h"), event(start=start), (), ZoneInfo("UTC"), NOW)
    assert strict == Dropped(reason=Reason.TOO_LATE, due=NOW - timedelta(hours=5))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, Reason.ANCHOR_MISSING),
        ({"start": None}, Reason.ANCHOR_MISSING),
        ({"start": {"at": 1}}, Reason.ANCHOR_INVALID),
        ({"start": "2099-01-01"}, Reason.TOO_FAR_AHEAD),
        ({"start": "9999-12-31T23:59:59Z"}, Reason.ANCHOR_INVALID),
        ({"start": "0001-01-01T00:00:00+14:00"}, Reason.ANCHOR_INVALID),
    ],
)
def test_an_anchor_that_cannot_be_followed_is_a_reason(data: dict[str, Any], reason: Reason) -> None:
    outcome = plan(sends(**SCHEDULED), event(**data), (), VIENNA, NOW)
    assert isinstance(outcome, Dropped)
    assert outcome.reason is reason


def test_the_greatest_occurred_at_wins_and_older_news_is_old() -> None:
    told = event(1, 10, start="2026-06-10T00:00:00Z")
    moved = news(2, 20, start="2026-07-10T00:00:00Z")
    older = news(3, 5, cancels=True)
    assert due(plan(sends(**SCHEDULED), told, [moved, older], VIENNA, NOW)).month == 7
    later = news(4, 30, cancels=True)
    assert plan(sends(**SCHEDULED), told, [later, moved], VIENNA, NOW) == Dropped(
        reason=Reason.CANCELLED_BY_EVENT, cancelled=True
    )
    again = news(5, 40, start="2026-08-10T00:00:00Z")
    assert due(plan(sends(**SCHEDULED), told, [later, again, moved], VIENNA, NOW)).month == 8


def test_news_without_the_anchor_moves_nothing_and_does_not_bring_back() -> None:
    told, about = event(1, 0, start="2026-06-10T00:00:00Z"), news(2, 20, guests=3)
    assert due(plan(sends(**SCHEDULED), told, [about], VIENNA, NOW)).month == 6
    gone = [news(3, 10, cancels=True), about]
    assert isinstance(plan(sends(**SCHEDULED), told, gone, VIENNA, NOW), Dropped)


def test_at_the_same_moment_cancelled_is_the_last_word() -> None:
    told = event(1, 0, start="2026-06-10T00:00:00Z")
    both = [news(2, 0, cancels=True), news(3, 0, start="2026-07-10T00:00:00Z")]
    for order in permutations(both):
        assert isinstance(plan(sends(**SCHEDULED), told, order, VIENNA, NOW), Dropped)


def test_what_an_event_says_about_its_subject_is_not_about_itself() -> None:
    told = event(1, 0, start="2026-06-10T00:00:00Z")
    assert isinstance(
        plan(sends(**SCHEDULED), told, [News(subject_key="b", event=told, cancels=True)], VIENNA, NOW), Due
    )


def test_an_offset_from_the_event_follows_the_latest_event() -> None:
    cart = sends(offset="2h", subject_key="$.data.booking")
    assert due(plan(cart, event(), [news(2, 60), news(3, 30)], VIENNA, NOW)) == NOW + timedelta(hours=3)


def test_the_latest_news_is_what_the_message_reads() -> None:
    told = event(1, 0, start="a", name="Jane")
    found = latest(told, [news(3, 20, start="c"), news(2, 10, start="b", room=7), news(4, 30, cancels=True, name="x")])
    assert found.data == {"booking": "b", "start": "c", "name": "Jane", "room": 7}


DATES = st.one_of(st.none(), st.integers(1, 27).map(lambda day: f"2026-05-{day:02}T00:00:00Z"), st.just("nonsense"))
EVENTS = st.lists(
    st.tuples(st.sampled_from(["created", "changed", "cancelled"]), st.integers(0, 5), DATES), min_size=1, max_size=7
)


@given(EVENTS, st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_timers(told: list[tuple[str, int, str | None]], random: Any) -> None:
    rule = sends(**SCHEDULED)
    numbered = list(enumerate(told))
    shuffled = list(numbered)
    random.shuffle(shuffled)
    assert _arrive(rule, numbered) == _arrive(rule, shuffled)


def _arrive(rule: Sends, told: list[tuple[int, tuple[str, int, str | None]]]) -> dict[str, tuple[Any, ...]]:
    """What the store would hold after these events, arriving in this order: as `Later` and `Replanner` do it."""
    zone, kept = ZoneInfo("UTC"), list[News]()
    timers: dict[str, tuple[Timer, Event]] = {}
    for number, (kind, minutes, start) in told:
        each = event(number, minutes, **({} if start is None else {"start": start}))
        if kind == "created":
            timers[each.id] = planned(_blank(each), rule, each, kept, zone, NOW), each
            continue
        kept.append(News(subject_key="b", event=each, cancels=kind == "cancelled"))
        for name, (timer, base) in timers.items():
            if can_be_replanned(timer):
                timers[name] = planned(timer, rule, base, kept, zone, NOW), base
    return {
        name: (one.word, one.reason, one.due if one.state is TimerState.WAITING else None)
        for name, (one, _) in timers.items()
    }


def _blank(each: Event, **fields: Any) -> Timer:
    usual: dict[str, Any] = {
        "id": UUID(int=1), "kind": TimerKind.TRIGGER, "trigger_id": UUID(int=2), "source": each.source,
        "recipient_id": UUID(int=3), "subject_key": "b", "slot": None, "state": TimerState.WAITING, "reason": None,
        "occurred_at": each.occurred_at, "due": None, "payload": b"", "created_at": NOW,
    }  # fmt: skip
    return Timer(**(usual | fields))


def test_what_has_fired_fires_again_only_where_its_trigger_says_so() -> None:
    told = event(1, 0, start="2026-06-10T00:00:00Z")
    fired = _blank(told, state=TimerState.FIRED, due=datetime(2026, 6, 8, tzinfo=UTC), ended_at=NOW)
    moved = [news(2, 10, start="2026-07-10T00:00:00Z")]
    assert planned(fired, sends(**SCHEDULED), told, moved, VIENNA, NOW) == fired
    again = planned(fired, sends(**SCHEDULED, refire=True), told, moved, VIENNA, NOW)
    assert (again.word, again.generation, again.once) == ("moved", 2, f"tmr:{fired.id}:2")
    assert planned(fired, sends(**SCHEDULED, refire=True), told, (), VIENNA, NOW) == fired
    assert planned(fired, sends(**SCHEDULED, refire=True), told, [news(2, 10, cancels=True)], VIENNA, NOW) == fired


def test_recipients_are_ids_objects_or_lists() -> None:
    path = read_path("$.data.guest")
    assert path is not None
    assert [one.id for one in targets_of(event(guest="u"), path).targets] == ["u"]
    assert [one.id for one in targets_of(event(guest=7), path).targets] == ["7"]
    [target] = targets_of(event(guest={"id": "u", "email": "a@example.com", "vip": True}), path).targets
    assert (target.id, target.fields.email, target.must_exist) == ("u", "a@example.com", False)
    assert len(targets_of(event(guest=["a", {"id": "b"}]), path).targets) == 2


@pytest.mark.parametrize(
    ("guest", "pointer", "code"),
    [
        (None, "/data/guest", "recipient_missing"),
        ([], "/data/guest", "recipient_missing"),
        (True, "/data/guest", "wrong_type"),
        ([["x"]], "/data/guest/0", "wrong_type"),
        ({"email": 5}, "/data/guest/email", "wrong_type"),
        ({"id": "u", "attributes": []}, "/data/guest/attributes", "wrong_type"),
        (["u"] * 1001, "/data/guest", "too_many"),
    ],
)
def test_a_recipient_that_cannot_be_read_is_named(guest: Any, pointer: str, code: str) -> None:
    path = read_path("$.data.guest")
    assert path is not None
    [fault] = targets_of(event(guest=guest), path).faults
    assert (fault.pointer, fault.code) == (pointer, code)


def test_variables_are_the_data_or_what_the_trigger_takes() -> None:
    told = event(guest={"name": "Jane"}, start="2026-06-10")
    assert variables_of(sends(), told) == told.data
    taken = variables_of(
        sends(variables={"name": "$.data.guest.name", "kind": "$.type", "n": 3, "no": "$.data.x"}), told
    )
    assert taken == {"name": "Jane", "kind": "t", "n": 3}


@pytest.mark.parametrize(
    ("value", "key"), [("b-1", "b-1"), (7, "7"), ("", None), (None, None), (True, None), ({}, None), ("x" * 201, None)]
)
def test_a_key_is_a_text_or_a_number(value: Any, key: str | None) -> None:
    path = read_path("$.data.k")
    assert path is not None
    assert key_at(event(k=value), path) == key


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [({"id": "a b"}, "/id"), ({"id": ""}, "/id"), ({"type": "a b"}, "/type"), ({"consumer": "a/b"}, "/consumer"),
     ({"occurred_at": NOW + timedelta(days=2)}, "/occurred_at"), ({"data": {"x": "y" * 300_000}}, "/data")],
)  # fmt: skip
def test_what_is_no_event_is_refused(fields: dict[str, Any], pointer: str) -> None:
    usual: dict[str, Any] = {"id": "e", "type": "t", "occurred_at": NOW, "data": {}}
    assert [fault.pointer for fault in check_event(Event(**(usual | fields)), NOW)] == [pointer]
