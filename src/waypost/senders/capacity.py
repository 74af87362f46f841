"""Handing out what an account may send now, and telling the rest when to come again.

Pure: whoever works with a `Handout` holds the account's row, and writes what came of it before anything is sent.
"""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from enum import IntEnum
from typing import Final
from uuid import UUID

from waypost.senders import pace as pacing
from waypost.senders.model import Account, AccountStatus, Day, Pace, Standing
from waypost.senders.warmup import as_of, batch_of, delay_of, limit_of

LOOK_AGAIN: Final = timedelta(minutes=5)
"""What waits for somebody to resume an account asks again after this long, and up to twice of it."""


class Rule(IntEnum):
    """Why a message waits; the soonest over first."""

    PACE = 1
    PROVIDER = 2
    LIMIT = 3
    PAUSED = 4

    @property
    def word(self) -> str:
        """As it stands in a message's timeline."""
        return _WORDS[self]


_WORDS: Final = {
    Rule.PACE: "sender_pace",
    Rule.PROVIDER: "provider_pace",
    Rule.LIMIT: "sender_limit",
    Rule.PAUSED: "sender_paused",
}


def midnight_after(now: datetime) -> datetime:
    """The next one, in UTC."""
    return datetime.combine(now.date() + timedelta(days=1), time(), UTC)


def remaining(account: Account, today: Day) -> int | None:
    """Of today's limit; None: there is none."""
    limit = limit_of(account)
    return None if limit is None else max(limit - today.reserved, 0)


class Handout:
    """One account during one batch: what goes, and how the account stands then."""

    def __init__(self, standing: Standing, now: datetime) -> None:
        account = standing.account
        if account.warmup is not None and (moved := as_of(account.warmup, now.date())) != account.warmup:
            account = replace(account, warmup=moved)
        self.before = standing
        self.account = account
        self.state = standing.state
        self.paces: dict[str, Pace] = {pace.provider: pace for pace in standing.paces}
        self.going: list[UUID] = []
        self.put_off_count = 0
        self._now = now
        self._delay = delay_of(account)
        self._left = remaining(account, standing.today)
        resting = standing.state.next_at is not None and standing.state.next_at > now
        self._batch = 0 if resting else batch_of(account) if self._delay else None

    @property
    def stage_changed(self) -> bool:
        return self.account is not self.before.account

    @property
    def is_paced(self) -> bool:
        """Whether replies may change how fast it writes to somebody."""
        return self.account.adaptive or bool(self.paces)

    def let_go(self, message: UUID, provider: str) -> Rule | None:
        """None: it goes, and is counted. Otherwise why not."""
        if self.account.status is not AccountStatus.ACTIVE:
            return Rule.PAUSED
        if self._left is not None and len(self.going) >= self._left:
            return Rule.LIMIT
        if self._batch is not None and len(self.going) >= self._batch:
            return Rule.PACE
        if not self._provider_lets(provider):
            return Rule.PROVIDER
        self.going.append(message)
        return None

    def put_off(self, rule: Rule, provider: str) -> datetime:
        """When a message comes again. Each gets a moment of its own, behind those that wait already."""
        self.put_off_count += 1
        match rule:
            case Rule.PAUSED:
                return self._now + LOOK_AGAIN + LOOK_AGAIN * (self.put_off_count % 100 / 100)
            case Rule.LIMIT:
                return self._another_day()
            case Rule.PACE:
                return self._in_a_while()
            case Rule.PROVIDER:
                pace = self.paces[provider]
                until, self.paces[provider] = pacing.plan(pace, self.account.provider_limits.get(provider), self._now)
                return until

    def close(self) -> None:
        """After the last message: when the next batch may come."""
        if self.going and self._delay:
            self.state = replace(self.state, next_at=self._now + len(self.going) * self._delay)

    def _provider_lets(self, provider: str) -> bool:
        known, limit = self.paces.get(provider), self.account.provider_limits.get(provider)
        # Nothing is noted about providers that nobody limits.
        if limit is None and not self.account.adaptive and (known is None or known.rate is None):
            return True
        pace = pacing.at(known, provider, self._now, adaptive=self.account.adaptive)
        room = pacing.room(pace, limit, self._now)
        lets = room is None or room > 0
        self.paces[provider] = pacing.take(pace, 1, self._now) if lets else pace
        return lets

    def _another_day(self) -> datetime:
        """So many are promised to each day as it can take; those beyond are promised to the next."""
        limit, tomorrow = limit_of(self.account) or 1, self._now.date() + timedelta(days=1)
        day, planned = self.state.plan_day, self.state.planned
        if day is None or day < tomorrow:
            day, planned = tomorrow, 0
        elif planned >= limit:
            day, planned = day + timedelta(days=1), 0
        self.state = replace(self.state, plan_day=day, planned=planned + 1)
        return datetime.combine(day, time(), UTC) + planned * self._delay

    def _in_a_while(self) -> datetime:
        free = self._now + len(self.going) * self._delay
        if self.state.next_at is not None:
            free = max(free, self.state.next_at)
        plan = self.state.plan_at
        moment = free if plan is None or plan < free else plan + self._delay
        self.state = replace(self.state, plan_at=moment)
        return moment
