"""Nothing that can happen to a message is without words, and numbers read as people read them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from waypost.channels.model import OutcomeKind, OutcomeReason
from waypost.console import moments, words
from waypost.console.attempts import MOST_FAILED, WITHIN_SECONDS, SignInAttempts
from waypost.console.chart import Series, draw, nice_top
from waypost.console.sign_in import our_path
from waypost.delivery.gate import SkipReason
from waypost.delivery.model import State
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import RateLimited
from waypost.notifications.activity import Window
from waypost.notifications.model import TimelineStep

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize("reason", [*OutcomeReason, *SkipReason])
def test_every_reason_has_words_of_its_own(reason: str) -> None:
    assert words.reason(reason) != words.spaced(reason)


def test_every_state_has_a_tone_and_a_sentence() -> None:
    assert {words.tone_of_state(state) for state in State} <= {"good", "busy", "held", "bad", "doubt", "calm"}
    assert set(words.STANDS) == set(State)


@pytest.mark.parametrize("kind", OutcomeKind)
def test_every_outcome_is_a_sentence(kind: OutcomeKind) -> None:
    step = words.step_of(
        TimelineStep(at=NOON, event=f"attempt_{kind.name.lower()}", detail={"attempt": 2, "code": 250})
    )
    assert not step.title.startswith("Attempt ")
    assert step.facts == {"code": "250"}


def test_a_resend_points_at_the_other_message() -> None:
    resent = words.step_of(TimelineStep(at=NOON, event="resent", detail={"resent_as": "ntf_2"}))
    assert (resent.title, resent.message, resent.facts) == ("Resent as", "ntf_2", {})
    copy = words.step_of(TimelineStep(at=NOON, event="accepted", detail={"channel": "email", "resend_of": "ntf_1"}))
    assert (copy.title, copy.message, copy.facts) == ("Accepted as a resend of", "ntf_1", {})
    assert words.step_of(TimelineStep(at=NOON, event="accepted", detail={"channel": "email"})).message is None


def test_an_unknown_event_is_still_shown() -> None:
    step = words.step_of(TimelineStep(at=NOON, event="moved_house", reason="new_reason", detail={"x" * 5: "y" * 500}))
    assert (step.title, step.reason) == ("Moved house", "new reason")
    assert len(step.facts["xxxxx"]) < 130


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 ms"),
        (0.35, "350 ms"),
        (0.9999, "1.0 s"),
        (9.96, "10 s"),
        (90, "90 s"),
        (600, "10 min"),
        (7300, "2 h"),
        (3 * 86400, "3 days"),
    ],
)
def test_spans(seconds: float, shown: str) -> None:
    assert moments.duration(seconds) == shown


def test_moments_near_and_far() -> None:
    assert moments.short(NOON, NOON) == "12:00:00"
    assert moments.short(NOON - timedelta(days=1), NOON) == "14 Jan 12:00"
    assert moments.short(NOON - timedelta(days=400), NOON) == "11 Dec 2024"
    assert moments.ago(NOON, NOON + timedelta(seconds=30)) == "30 s ago"
    assert moments.ago(NOON, NOON - timedelta(hours=3)) == "in 3 h"


@pytest.mark.parametrize("window", Window)
def test_bars_stand_on_whole_steps_and_now_is_in_the_last(window: Window) -> None:
    now = NOON + timedelta(seconds=17)
    bounds = window.bounds(now)
    assert len(bounds) == window.bars + 1
    assert bounds[-2] <= now < bounds[-1]
    assert {later - earlier for earlier, later in pairwise(bounds)} == {window.step}
    assert all(bound.timestamp() % window.step.total_seconds() == 0 for bound in bounds)


@pytest.mark.parametrize(("highest", "top"), [(0, 1), (1, 1), (7, 8), (29, 30), (101, 200), (0.3, 0.3), (1000, 1000)])
def test_the_scale_ends_on_a_round_number(highest: float, top: float) -> None:
    assert nice_top(highest) == pytest.approx(top)


def test_a_pile_is_as_high_as_its_sum_and_stays_in_its_box() -> None:
    series = [Series(label="A", tone="good", values=[4, 0]), Series(label="B", tone="bad", values=[4, 1])]
    chart = draw(id_="x", title="X", says="", starts=["1", "2"], marks=[], series=series, show=lambda n: f"{n:g}")
    first, second = chart.columns
    assert sum(block.height for block in first.blocks) == pytest.approx(100)
    assert [block.tone for block in second.blocks] == ["bad"]
    assert all(block.y >= 0 and block.y + block.height <= 100.01 for column in chart.columns for block in column.blocks)
    assert chart.rows == [("1", ["4", "4"]), ("2", ["0", "1"])]
    assert first.title == "1: a 4, b 4"


def test_guessing_is_stopped_and_forgotten_in_time() -> None:
    clock = VirtualClock()
    attempts = SignInAttempts(clock)
    for _ in range(MOST_FAILED):
        attempts.check("a")
        attempts.note_failure("a")
    with pytest.raises(RateLimited) as stopped:
        attempts.check("a")
    assert stopped.value.retry_after == WITHIN_SECONDS
    attempts.check("b")


async def test_guesses_grow_old() -> None:
    clock = VirtualClock()
    attempts = SignInAttempts(clock)
    for _ in range(MOST_FAILED):
        attempts.note_failure("a")
    await clock.advance(WITHIN_SECONDS)
    attempts.check("a")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/messages?status=failed", "/messages?status=failed"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
        ("https://evil.example", "/"),
    ],
)
def test_only_our_own_paths_are_gone_on_to(text: str, path: str) -> None:
    assert our_path(text) == path
