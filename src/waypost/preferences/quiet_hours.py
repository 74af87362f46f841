"""Quiet hours on a recipient's own wall clock, across midnight and through both changes of the clocks.

A time that does not exist means the first instant after the gap; one that comes twice means its first coming.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from waypost.kernel.durations import instant_of
from waypost.preferences.model import QuietHours

_DAY: Final = timedelta(days=1)
_DAY_MINUTES: Final = 1440
_GOOD_DAY: Final = timedelta(hours=26)
_MOST_WINDOWS: Final = 10
"""Where a change of the clocks makes one window touch the next, the wait goes on; it never does so twice in a row."""


def quiet_until(quiet: QuietHours, zone: tzinfo, now: datetime) -> datetime | None:
    """When it is next allowed to disturb; None where that is now. The answer never lies in quiet hours itself."""
    if quiet.start == quiet.end:
        return None
    local = now.astimezone(zone)
    if _clocks_stand(zone, now, local.utcoffset()):
        return _plain_end(quiet, local)
    until: datetime | None = None
    for _ in range(_MOST_WINDOWS):
        ends = _end_of_window(quiet, zone, until or now)
        if ends is None:
            return until
        until = ends
    return until


@lru_cache(maxsize=1_000)
def zone_of(name: str | None) -> tzinfo:
    """A zone that nobody knows any more is UTC."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _clocks_stand(zone: tzinfo, now: datetime, offset: timedelta | None) -> bool:
    """No change of the clocks within a good day of now: then the wall clock is all there is to look at."""
    return (now + _GOOD_DAY).astimezone(zone).utcoffset() == offset and (now - _GOOD_DAY).astimezone(
        zone
    ).utcoffset() == offset


def _plain_end(quiet: QuietHours, local: datetime) -> datetime | None:
    minute = local.hour * 60 + local.minute
    if quiet.start < quiet.end:
        inside = quiet.start <= minute < quiet.end
    else:
        inside = minute >= quiet.start or minute < quiet.end
    if not inside:
        return None
    left = timedelta(minutes=(quiet.end - minute) % _DAY_MINUTES)
    return (local.replace(second=0, microsecond=0) + left).astimezone(UTC)


def _end_of_window(quiet: QuietHours, zone: tzinfo, now: datetime) -> datetime | None:
    today = now.astimezone(zone).date()
    for day in (today - _DAY, today, today + _DAY):
        begins = _instant(zone, day, quiet.start)
        ends = _instant(zone, day if quiet.start < quiet.end else day + _DAY, quiet.end)
        if begins <= now < ends:
            return ends
    return None


def _instant(zone: tzinfo, day: date, minutes: int) -> datetime:
    return instant_of(datetime.combine(day, time(minutes // 60, minutes % 60)), zone)
