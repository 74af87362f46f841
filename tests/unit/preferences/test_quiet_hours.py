"""Quiet hours across midnight and both changes of the clocks: a wait always ends, and never inside quiet hours."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.preferences.model import QuietHours
from waypost.preferences.quiet_hours import quiet_until, zone_of

VIENNA = ZoneInfo("Europe/Vienna")
ZONES = [
    "Europe/Vienna",
    "America/New_York",
    "America/St_Johns",
    "America/Santiago",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "UTC",
]


def hours(start: str, end: str) -> QuietHours:
    first, last = (int(text[:2]) * 60 + int(text[3:]) for text in (start, end))
    return QuietHours(start=first, end=last)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "now", "until"),
    [
        ("22:00", "07:00", "2026-01-15T20:59", None),
        ("22:00", "07:00", "2026-01-15T21:00", "2026-01-16T06:00"),
        ("22:00", "07:00", "2026-01-15T23:30", "2026-01-16T06:00"),
        ("22:00", "07:00", "2026-01-16T05:59", "2026-01-16T06:00"),
        ("22:00", "07:00", "2026-01-16T06:00", None),
        ("13:00", "14:30", "2026-07-01T11:15", "2026-07-01T12:30"),
        ("13:00", "14:30", "2026-07-01T12:30", None),
        ("00:00", "00:00", "2026-07-01T12:30", None),
        # The night of 29 March has no 02:30: quiet hours that end then end when the clocks have been put forward.
        ("22:00", "02:30", "2026-03-28T23:00", "2026-03-29T01:00"),
        # … and those that begin then begin at that moment.
        ("02:30", "04:00", "2026-03-29T00:59", None),
        ("02:30", "04:00", "2026-03-29T01:00", "2026-03-29T02:00"),
        # The night of 25 October has two: the first counts.
        ("22:00", "02:30", "2026-10-25T00:29", "2026-10-25T00:30"),
        ("22:00", "02:30", "2026-10-25T01:15", None),
        ("02:30", "04:00", "2026-10-25T00:30", "2026-10-25T03:00"),
    ],
)
def test_known_nights_in_vienna(start: str, end: str, now: str, until: str | None) -> None:
    found = quiet_until(hours(start, end), VIENNA, utc(now))
    assert found == (None if until is None else utc(until))


def test_a_day_that_does_not_exist_is_passed_over() -> None:
    """Samoa went from 29 to 31 December 2011: after one night it was noon of the 31st."""
    found = quiet_until(hours("20:00", "12:00"), ZoneInfo("Pacific/Apia"), utc("2011-12-30T07:00"))
    assert found == utc("2011-12-30T22:00")


@given(
    start=st.integers(0, 1439),
    end=st.integers(0, 1439),
    zone=st.sampled_from(ZONES),
    now=st.datetimes(min_value=datetime(2011, 12, 1), max_value=datetime(2030, 1, 1)),  # noqa: DTZ001
)
@example(start=150, end=130, zone="Europe/Vienna", now=datetime(2026, 3, 28, 12))  # noqa: DTZ001
@example(start=1, end=0, zone="America/Santiago", now=datetime(2026, 9, 5, 12))  # noqa: DTZ001
def test_a_wait_ends_soon_and_lands_outside(start: int, end: int, zone: str, now: datetime) -> None:
    quiet, place, at = QuietHours(start=start, end=end), zone_of(zone), now.replace(tzinfo=UTC)
    until = quiet_until(quiet, place, at)
    if until is not None:
        assert at < until <= at + timedelta(days=4)
        assert quiet_until(quiet, place, until) is None


@given(now=st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2030, 1, 1)))  # noqa: DTZ001
def test_outside_the_changes_of_the_clocks_the_wall_clock_decides(now: datetime) -> None:
    at = now.replace(tzinfo=UTC)
    wall = at.astimezone(VIENNA)
    if (
        wall.utcoffset()
        == (at + timedelta(days=1)).astimezone(VIENNA).utcoffset()
        == (at - timedelta(days=1)).astimezone(VIENNA).utcoffset()
    ):
        inside = wall.hour >= 22 or wall.hour < 7
        assert (quiet_until(hours("22:00", "07:00"), VIENNA, at) is not None) == inside


def test_a_zone_that_nobody_knows_is_utc() -> None:
    assert zone_of("Mars/Base") is UTC
    assert zone_of(None) is UTC
    assert zone_of("../../etc/passwd") is UTC
