"""Durations and the clocks on people's walls."""

# ruff: noqa: DTZ001 — a clock on a wall has no offset

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.durations import Duration, add, instant_of, read_duration

VIENNA = ZoneInfo("Europe/Vienna")


@pytest.mark.parametrize(
    ("text", "days", "seconds"),
    [("30d", 30, 0), ("2h", 0, 7200), ("15m", 0, 900), ("10s", 0, 10), ("-2d", -2, 0), ("1d12h", 1, 43_200),
     ("+1h30m", 0, 5400), ("0s", 0, 0)],
)  # fmt: skip
def test_a_duration_is_read(text: str, days: int, seconds: int) -> None:
    assert read_duration(text) == Duration(days=days, seconds=seconds)


@pytest.mark.parametrize("text", ["", "-", "5", "d", "2w", "1h1d", "1.5h", " 2h", "2h ", "9" * 41 + "s", "−2d", "2H"])
def test_what_is_no_duration_is_not_read(text: str) -> None:
    assert read_duration(text) is None


@given(st.integers(0, 99_999), st.integers(0, 10**8), st.booleans())
def test_spelling_and_reading_agree(days: int, seconds: int, back: bool) -> None:
    sign = -1 if back else 1
    duration = Duration(days=sign * days, seconds=sign * seconds)
    assert read_duration(str(duration)) == duration


def test_a_missing_hour_is_its_first_moment_after_and_a_doubled_one_its_first() -> None:
    assert instant_of(datetime(2026, 3, 29, 2, 30), VIENNA) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert instant_of(datetime(2026, 3, 29, 3, 0), VIENNA) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert instant_of(datetime(2026, 10, 25, 2, 30), VIENNA) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_days_are_calendar_days_and_hours_are_elapsed() -> None:
    anchor = datetime(2026, 3, 30, 10, 0, tzinfo=VIENNA)
    assert add(anchor, Duration(days=-2), VIENNA) == datetime(2026, 3, 28, 10, 0, tzinfo=VIENNA)
    assert add(anchor, Duration(seconds=-48 * 3600), VIENNA) == anchor.astimezone(UTC) - timedelta(hours=48)
    assert add(anchor, Duration(days=-2), UTC) == anchor.astimezone(UTC) - timedelta(hours=48)


@given(st.datetimes(datetime(1980, 1, 1), datetime(2037, 1, 1)), st.sampled_from(
    ["Europe/Vienna", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC", "Pacific/Apia"]))  # fmt: skip
def test_the_moment_shows_the_time_or_the_first_one_after(local: datetime, name: str) -> None:
    local, zone = local.replace(microsecond=0), ZoneInfo(name)
    shown = instant_of(local, zone).astimezone(zone).replace(tzinfo=None)
    assert shown == local or local < shown <= local + timedelta(days=1, hours=1)
    if shown != local:
        before = (instant_of(local, zone) - timedelta(seconds=1)).astimezone(zone).replace(tzinfo=None)
        assert before < local
