"""A rate that learns what a mailbox provider bears, over days of virtual time."""

from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from waypost.kernel.clock import VirtualClock
from waypost.senders.model import Pace
from waypost.senders.pace import LOWEST, ONE_EVENT, START, after, at, hour_of, plan, room, take

Provider = Callable[[datetime], bool]


def sliding(limit: int) -> Provider:
    """Takes at most so many within any sixty minutes and answers 421 to the rest."""
    accepted: deque[datetime] = deque()

    def ask(now: datetime) -> bool:
        while accepted and accepted[0] <= now - timedelta(hours=1):
            accepted.popleft()
        if len(accepted) >= limit:
            return False
        accepted.append(now)
        return True

    return ask


def by_the_clock(limit: int) -> Provider:
    """Counts anew at every full hour."""
    counts: dict[datetime, int] = {}

    def ask(now: datetime) -> bool:
        hour = hour_of(now)
        counts[hour] = counts.get(hour, 0) + 1
        if counts[hour] > limit:
            counts[hour] = limit
            return False
        return True

    return ask


async def live(
    provider: Provider, hours: int, *, pace: Pace | None = None, adaptive: bool = True
) -> tuple[Pace, list[int]]:
    """Writes to a provider whenever the pace lets it, with more to send than it ever may."""
    clock = VirtualClock()
    accepted = [0] * hours
    begun = clock.now()
    while (gone := clock.now() - begun) < timedelta(hours=hours):
        now = clock.now()
        pace = at(pace, "gmail", now, adaptive=adaptive)
        going = room(pace, None, now)
        going = 500 if going is None else going
        pace = take(pace, going, now)
        good = sum(provider(now) for _ in range(going))
        pace = after(pace, good=good, slowed=good < going, unused=going - good, now=now)
        accepted[gone // timedelta(hours=1)] += good
        await clock.advance(20)
    assert pace is not None
    return pace, accepted


@pytest.mark.parametrize("provider", [sliding, by_the_clock])
@pytest.mark.parametrize("limit", [30, 100, 1_000])
async def test_the_rate_settles_within_a_fifth_of_what_the_provider_bears_within_a_day(
    provider: Callable[[int], Provider], limit: int
) -> None:
    pace, accepted = await live(provider(limit), 24)
    last = accepted[-8:]
    assert 0.8 * limit <= sum(last) / len(last) <= 1.2 * limit
    assert pace.ceiling is not None
    assert 0.8 * limit <= pace.ceiling <= 1.2 * limit


async def test_an_account_that_is_not_adaptive_slows_down_when_asked_and_forgets_within_a_day_of_peace() -> None:
    now = VirtualClock().now()
    pace = at(None, "yahoo", now, adaptive=False)
    assert room(pace, None, now) is None
    pace = after(take(pace, 80, now), good=40, slowed=True, unused=40, now=now, adaptive=False)
    assert pace.rate == 20
    assert (room(pace, None, now) or 0) == 0
    assert at(pace, "yahoo", now + timedelta(hours=23), adaptive=False).rate == 20
    assert at(pace, "yahoo", now + timedelta(hours=25), adaptive=False).rate is None


async def test_a_few_greylisted_messages_do_not_make_an_account_wait_for_hours() -> None:
    now = VirtualClock().now()
    pace = at(None, "small", now, adaptive=False)
    for _ in range(20):
        pace = after(take(pace, 3, now), good=2, slowed=True, unused=1, now=now, adaptive=False)
        now += ONE_EVENT
    assert (pace.rate, pace.ceiling) == (START, START)
    assert (room(pace, None, now) or 0) > 0


async def test_one_request_told_of_many_messages_halves_once() -> None:
    now = VirtualClock().now()
    pace = after(at(None, "gmail", now, adaptive=True), good=0, slowed=True, unused=5, now=now)
    assert pace.rate == START / 2
    assert after(pace, good=0, slowed=True, unused=5, now=now + ONE_EVENT / 2).rate == START / 2
    assert after(pace, good=0, slowed=True, unused=5, now=now + ONE_EVENT).rate == START / 4
    for _ in range(20):
        now += ONE_EVENT
        pace = after(pace, good=0, slowed=True, unused=5, now=now)
    assert pace.rate == LOWEST


async def test_those_that_wait_come_one_after_the_other() -> None:
    now = VirtualClock().now()
    pace = take(at(None, "gmail", now, adaptive=True), 2, now)
    moments = []
    for _ in range(5):
        moment, pace = plan(pace, None, now)
        moments.append(moment)
    assert [later - earlier for earlier, later in pairwise(moments)] == [timedelta(minutes=1)] * 4
