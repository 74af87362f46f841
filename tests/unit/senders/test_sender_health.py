"""When an account stops, what an answer means for it, and how it warms up."""

from datetime import date, timedelta
from typing import Any

import pytest

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.senders.health import MOST_IN_A_ROW, SMALLEST_SAMPLE, rest_after, tally_of, verdict
from waypost.senders.model import AccountStatus, Day, StatusReason, Tally
from waypost.senders.warmup import DEFAULT_SCHEDULE, as_of, batch_of, delay_of, limit_of, next_stage_on, start

TODAY = date(2026, 1, 15)


def day(sent: int, bounced: int = 0, errors: int = 0) -> Day:
    return Day(day=TODAY, sent=sent, bounced=bounced, errors=errors)


@pytest.mark.parametrize(
    ("counted", "in_a_row", "reasons", "expected"),
    [
        (day(95, bounced=5), 0, [], None),
        (day(94, bounced=6), 0, [], (AccountStatus.PAUSED, StatusReason.BOUNCE_RATE)),
        (day(90, errors=10), 0, [], None),
        (day(89, errors=11), 0, [], (AccountStatus.PAUSED, StatusReason.ERROR_RATE)),
        (day(10, bounced=SMALLEST_SAMPLE - 11), 0, [], None),
        (day(100), MOST_IN_A_ROW - 1, [], None),
        (day(100), MOST_IN_A_ROW, [], (AccountStatus.PAUSED, StatusReason.ERRORS_IN_A_ROW)),
        (day(1), 1, [OutcomeReason.AUTHENTICATION], (AccountStatus.SUSPENDED, StatusReason.AUTHENTICATION)),
        (day(1), 1, [OutcomeReason.CONNECTION], None),
    ],
)
def test_thresholds(counted: Day, in_a_row: int, reasons: list[OutcomeReason], expected: object) -> None:
    assert verdict(counted, in_a_row, reasons) == expected


@pytest.mark.parametrize(
    ("kind", "reason", "expected"),
    [
        (OutcomeKind.ACCEPTED, None, Tally.SENT),
        (OutcomeKind.REJECTED, OutcomeReason.ADDRESS_UNKNOWN, Tally.BOUNCED),
        (OutcomeKind.REJECTED, OutcomeReason.POLICY, Tally.REFUSED),
        (OutcomeKind.DEFERRED, OutcomeReason.SLOW_DOWN, Tally.DEFERRED),
        (OutcomeKind.DEFERRED, OutcomeReason.AUTHENTICATION, Tally.AWAY),
        (OutcomeKind.UNREACHABLE, OutcomeReason.CONNECTION, Tally.AWAY),
        (OutcomeKind.IN_DOUBT, OutcomeReason.TIMEOUT, Tally.IN_DOUBT),
    ],
)
def test_what_an_answer_means(kind: OutcomeKind, reason: OutcomeReason | None, expected: Tally) -> None:
    assert tally_of(Outcome(kind=kind, reason=reason)) is expected


def test_a_server_that_is_away_is_asked_less_and_less() -> None:
    rests = [rest_after(count) for count in range(1, 12)]
    assert rests == sorted(rests)
    assert rests[0] == timedelta(seconds=5)
    assert rests[-1] == rest_after(10_000) == timedelta(minutes=5)


def test_the_usual_warm_up_takes_six_weeks_and_then_is_over(account: Any) -> None:
    young = account(daily_limit=1_500, batch_size=45, delay_ms=5_000, warmup=start(DEFAULT_SCHEDULE, TODAY))
    seen: dict[int | None, int] = {}
    warmup = young.warmup
    for passed in range(50):
        warmup = as_of(warmup, TODAY + timedelta(days=passed))
        seen[warmup.stage] = seen.get(warmup.stage, 0) + 1
    assert seen == {1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 6: 7, None: 8}
    assert warmup.finished_on == TODAY + timedelta(days=42)
    assert len(warmup.started_on) == 6
    assert next_stage_on(warmup) is None
    assert (limit_of(young), batch_of(young), delay_of(young)) == (50, 10, timedelta(minutes=1))


def test_limits_are_the_lower_one_and_a_finished_warm_up_limits_nothing(account: Any) -> None:
    last = as_of(start(DEFAULT_SCHEDULE[-1:], TODAY), TODAY)
    assert limit_of(account(daily_limit=1_500, warmup=last)) == 1_500
    assert limit_of(account(daily_limit=None, warmup=last)) == 2_000
    over = as_of(last, TODAY + timedelta(days=7))
    assert (over.stage, limit_of(account(daily_limit=9_999, warmup=over))) == (None, 9_999)
    assert limit_of(account(daily_limit=None, warmup=over)) is None


def test_a_month_of_idling_is_no_warm_up() -> None:
    warmup = as_of(start(DEFAULT_SCHEDULE, TODAY), TODAY + timedelta(days=300))
    assert warmup.stage == 2
    assert as_of(warmup, TODAY + timedelta(days=306)).stage == 2
    assert as_of(warmup, TODAY + timedelta(days=307)).stage == 3
