"""Dates and times as variables hold them, and the patterns in which people ask for them."""

import re
from datetime import UTC, date, datetime, time, tzinfo
from typing import Final

from waypost.adapters.render.speech import Unsuitable

STYLES: Final = frozenset({"short", "medium", "long", "full"})
_LONGEST_PATTERN: Final = 100
_MILLISECONDS_FROM: Final = 100_000_000_000
"""A larger number counts milliseconds: as seconds it lies beyond the year 5000."""

_DIRECTIVE: Final = re.compile(r"%([-^]?[A-Za-z%])")
# The directives of strftime, as the patterns of CLDR write them.
_DIRECTIVES: Final = {
    "Y": "yyyy", "y": "yy", "m": "MM", "-m": "M", "B": "MMMM", "b": "MMM", "h": "MMM", "d": "dd", "-d": "d", "e": "d",
    "j": "DDD", "A": "EEEE", "a": "EEE", "u": "e", "H": "HH", "-H": "H", "k": "H", "I": "hh", "-I": "h", "l": "h",
    "M": "mm", "-M": "m", "S": "ss", "-S": "s", "p": "a", "P": "a", "L": "SSS", "Z": "z", "z": "xx", "V": "ww",
    "F": "yyyy-MM-dd", "T": "HH:mm:ss", "R": "HH:mm", "D": "MM/dd/yy", "%": "'%'",
}  # fmt: skip
_LETTERS: Final = re.compile(r"[A-Za-z']+")


def read_moment(value: object) -> datetime | date:
    """A time in UTC, or a plain date, which is the same day everywhere."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
        except (ValueError, OverflowError, OSError):
            raise Unsuitable("has a number of seconds that is no date") from None
    if not isinstance(value, str) or len(value) > 50:
        raise Unsuitable("has a value that is no date: write 2026-11-15 or 2026-11-15T18:30:00Z")
    if value in {"now", "today"}:
        raise Unsuitable("asks for the present time: a message must read the same for ever, so give it as a variable")
    try:
        if len(value) == 10:
            return date.fromisoformat(value)
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise Unsuitable("has a value that is no date: write 2026-11-15 or 2026-11-15T18:30:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read_clock(value: object) -> time | None:
    """`18:30`, which is the same everywhere; None where the value is something else."""
    if not isinstance(value, str) or not 4 < len(value) <= 8 or value[2] != ":":
        return None
    try:
        return time.fromisoformat(value)
    except ValueError:
        return None


def local(moment: datetime | date, zone: tzinfo) -> datetime:
    if isinstance(moment, datetime):
        try:
            return moment.astimezone(zone)
        except OverflowError:
            return moment
    return datetime.combine(moment, time(), zone)


def read_pattern(pattern: object) -> str:
    """A style, a pattern of CLDR (`d MMMM y`) or one of strftime (`%d.%m.%Y`), as the first two."""
    if not isinstance(pattern, str) or not pattern or len(pattern) > _LONGEST_PATTERN:
        raise Unsuitable("has a date pattern that cannot be read")
    if "%" not in pattern:
        return pattern
    out, position = "", 0
    for found in _DIRECTIVE.finditer(pattern):
        out += _literal(pattern[position : found.start()])
        position = found.end()
        word = found[1].removeprefix("^")
        if word not in _DIRECTIVES:
            raise Unsuitable("has a date pattern with a `%` that means nothing here")
        out += _DIRECTIVES[word]
    return out + _literal(pattern[position:])


def _literal(text: str) -> str:
    return _LETTERS.sub(lambda letters: "'" + letters[0].replace("'", "''") + "'", text)
