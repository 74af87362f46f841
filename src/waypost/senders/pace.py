"""How fast one mailbox provider is written to: its limit by the hour, and a rate that learns what it bears.

The rate grows with every good reply and is halved when the provider asks us to slow down. Halving alone would swing
between half of what is borne and all of it; so what was borne last is remembered, regained quickly up to a margin, and
tried beyond only slowly.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from waypost.senders.model import Pace

START: Final = 60.0
"""Messages an hour to a provider that an adaptive account has never written to."""
LOWEST: Final = 6.0
_FEW: Final = 10
"""Who puts off fewer than this at a time may be greylisting, and not mean the speed: an account that is not adaptive
then slows down to `START` at the least, and what it sends in a burst does not wait for hours."""
HIGHEST: Final = 1_000_000.0
MARGIN: Final = 0.92
"""Of what was borne last: so much is regained quickly."""
_AT_FIRST: Final = 0.5
_REGAIN: Final = 2.0
_TRY_BEYOND: Final = 0.02
"""Of what was borne, within an hour."""
ONE_EVENT: Final = timedelta(minutes=10)
"""What comes within it is the same request to slow down, told of many messages."""
FORGET_AFTER: Final = timedelta(days=1)
"""An account that is not adaptive is held back no longer than this after the last request."""
_AT_ONCE: Final = timedelta(minutes=1)
"""So much of the rate may be used in one go."""
_HOUR: Final = timedelta(hours=1)


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def at(pace: Pace | None, provider: str, now: datetime, *, adaptive: bool) -> Pace:
    """As it stands now: the hour rolls over by itself, and old trouble is forgotten."""
    hour = hour_of(now)
    if pace is None:
        return Pace(provider=provider, hour=hour, rate=START if adaptive else None)
    if pace.hour < hour:
        before = pace.taken if pace.hour + _HOUR == hour else 0
        pace = replace(pace, hour=hour, taken=0, taken_before=before)
    if pace.rate is None and adaptive:
        return replace(pace, rate=START)
    if pace.rate is not None and not adaptive and (pace.slowed_at is None or now - pace.slowed_at > FORGET_AFTER):
        return replace(pace, rate=None, ceiling=None, next_at=None, plan_at=None)
    return pace


def room(pace: Pace, limit: int | None, now: datetime) -> int | None:
    """How many may go now; None: as many as there are."""
    by_rate: int | None = None
    if pace.rate is not None:
        first = _first(pace, now)
        by_rate = 0 if first > now else (now - first) // _interval(pace.rate) + 1
    by_limit = None if limit is None else max(limit - pace.taken, 0)
    if by_rate is None or by_limit is None:
        return by_limit if by_rate is None else by_rate
    return min(by_rate, by_limit)


def take(pace: Pace, count: int, now: datetime) -> Pace:
    taken = replace(pace, taken=pace.taken + count)
    if pace.rate is None:
        return taken
    return replace(taken, next_at=_first(pace, now) + count * _interval(pace.rate))


def plan(pace: Pace, limit: int | None, now: datetime) -> tuple[datetime, Pace]:
    """When one that has to wait comes again; each gets a moment of its own, so that they do not all come at once."""
    spacing = _interval(pace.rate) if pace.rate is not None else timedelta(0)
    earliest = now + spacing
    if pace.rate is not None and pace.next_at is not None:
        earliest = max(earliest, pace.next_at)
    if limit is not None:
        spacing = max(spacing, _HOUR / limit)
        if pace.taken >= limit:
            earliest = max(earliest, pace.hour + _HOUR)
    moment = earliest if pace.plan_at is None else max(earliest, pace.plan_at + spacing)
    return moment, replace(pace, plan_at=moment)


def after(pace: Pace, *, good: int, slowed: bool, unused: int, now: datetime, adaptive: bool = True) -> Pace:
    """What a batch's replies teach. `unused`: how many of it were not taken after all."""
    pace = replace(pace, taken=max(pace.taken - unused, 0))
    if slowed:
        return _slower(pace, now, LOWEST if adaptive or unused >= _FEW else START)
    if good == 0 or pace.rate is None:
        return pace
    return replace(pace, rate=min(_grown(pace.rate, pace.ceiling, good), HIGHEST))


def _slower(pace: Pace, now: datetime, least: float) -> Pace:
    if pace.slowed_at is not None and now - pace.slowed_at < ONE_EVENT:
        return pace
    borne = max(_last_hour(pace, now), least)
    was = borne if pace.rate is None else pace.rate
    ceiling = min(was, borne) if pace.ceiling is None or was >= pace.ceiling * MARGIN else pace.ceiling
    rate = max(was / 2, least)
    return replace(
        pace, rate=rate, ceiling=max(ceiling, least), slowed_at=now, next_at=now + _interval(rate), plan_at=None
    )


def _grown(rate: float, ceiling: float | None, good: int) -> float:
    if ceiling is None:
        return rate + good * _AT_FIRST
    if rate < ceiling * MARGIN:
        return min(rate + good * _REGAIN, ceiling * MARGIN)
    return rate + good * _TRY_BEYOND * ceiling / rate


def _last_hour(pace: Pace, now: datetime) -> float:
    """About how many went within the last sixty minutes."""
    gone = (now - pace.hour) / _HOUR
    return pace.taken + pace.taken_before * max(1 - gone, 0.0)


def _first(pace: Pace, now: datetime) -> datetime:
    """The moment of the first message that has not been sent yet."""
    return now - _AT_ONCE if pace.next_at is None else max(pace.next_at, now - _AT_ONCE)


def _interval(rate: float) -> timedelta:
    return timedelta(seconds=3600 / rate)
