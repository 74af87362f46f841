"""Durations as callers write them: `30d`, `2h`, `15m`, `10s`, or several together (`1d12h`), signed where one may look
back. A `d` is a calendar day of the time zone in question, so it may have 23 or 25 hours; the rest is elapsed time.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_DURATION: Final = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<d>[0-9]{1,5})d)?(?:(?P<h>[0-9]{1,6})h)?(?:(?P<m>[0-9]{1,7})m)?(?:(?P<s>[0-9]{1,9})s)?\Z"
)
_LONGEST: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Duration:
    days: int = 0
    seconds: int = 0

    @property
    def elapsed(self) -> timedelta:
        """Where no calendar is meant, a day has 24 hours."""
        return timedelta(days=self.days, seconds=self.seconds)

    def __str__(self) -> str:
        seconds = abs(self.seconds)
        parts = ((abs(self.days), "d"), (seconds // 3600, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
        spelled = "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
        return f"-{spelled}" if self.days < 0 or self.seconds < 0 else spelled


def read_duration(text: str) -> Duration | None:
    """None where the text is no duration."""
    found = _DURATION.match(text) if len(text) <= _LONGEST else None
    if found is None or not any(found[unit] for unit in "dhms"):
        return None
    sign = -1 if found["sign"] == "-" else 1
    days, hours, minutes, seconds = (int(found[unit] or 0) for unit in "dhms")
    return Duration(days=sign * days, seconds=sign * (hours * 3600 + minutes * 60 + seconds))


def add(moment: datetime, duration: Duration, zone: tzinfo) -> datetime:
    """Calendar days by the zone's clock on the wall, then elapsed time. OverflowError beyond the years there are."""
    if duration.days:
        local = moment.astimezone(zone).replace(tzinfo=None) + timedelta(days=duration.days)
        moment = instant_of(local, zone)
    return moment.astimezone(UTC) + timedelta(seconds=duration.seconds)


def instant_of(local: datetime, zone: tzinfo) -> datetime:
    """The moment at which a zone's clock shows this. Where it never does, the first moment after; where it does twice,
    the first of them."""
    early = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if early.astimezone(zone).replace(tzinfo=None) == local:
        return early
    # The clock was put forward over it: the moment of that lies between its two readings.
    below, above = sorted((local.replace(tzinfo=zone, fold=1).astimezone(UTC), early))
    before = below.astimezone(zone).utcoffset()
    while above - below > timedelta(seconds=1):
        middle = below + (above - below) // 2
        if middle.astimezone(zone).utcoffset() == before:
            below = middle
        else:
            above = middle
    return above.replace(microsecond=0)
