"""Times, spans and numbers as people read them. Everything is in UTC, and the page says so."""

from datetime import UTC, datetime
from typing import Final

from waypost.kernel.errors import refuse

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400


def read_moment(text: str, pointer: str) -> datetime | None:
    """What a field for a time says, in UTC where it names no zone; None where it is empty."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise refuse(pointer, "invalid_time", "Write a time such as 2026-01-15T23:00.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def in_full(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%-d %b %Y, %H:%M:%S")


def exact(moment: datetime) -> str:
    """The time of day to the millisecond."""
    return moment.astimezone(UTC).strftime("%H:%M:%S.%f")[:-3]


def short(moment: datetime, now: datetime) -> str:
    """The time of day; with the date where it was another day."""
    at = moment.astimezone(UTC)
    if at.date() == now.astimezone(UTC).date():
        return at.strftime("%H:%M:%S")
    return at.strftime("%-d %b %H:%M" if at.year == now.year else "%-d %b %Y")


def ago(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 2:
        return "just now"
    span = duration(abs(seconds))
    return f"{span} ago" if seconds > 0 else f"in {span}"


def duration(seconds: float) -> str:
    """One unit where that is enough: `350 ms`, `4.2 s`, `12 min`, `3 h`, `2 days`."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{round(seconds)} s"
    if seconds < 2 * _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    if seconds < 2 * _DAY:
        return f"{round(seconds / _HOUR)} h"
    return f"{round(seconds / _DAY)} days"


def grouped(number: int) -> str:
    return f"{number:,}"
