"""Warming up: how much a young account may send, stage by stage, and when the next stage begins."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from waypost.senders.model import Account, Stage, WarmUp

DEFAULT_SCHEDULE: Final = (
    Stage(limit=50, delay_ms=60_000, batch_size=10),
    Stage(limit=100, delay_ms=30_000, batch_size=20),
    Stage(limit=250, delay_ms=12_000, batch_size=30),
    Stage(limit=500, delay_ms=7_500, batch_size=40),
    Stage(limit=1_000, delay_ms=6_000, batch_size=50),
    Stage(limit=2_000, delay_ms=3_000, batch_size=50),
)


def start(schedule: Sequence[Stage], today: date) -> WarmUp:
    return WarmUp(schedule=tuple(schedule), stage=1, started_on=(today,))


def as_of(warmup: WarmUp, today: date) -> WarmUp:
    """Asked when a day begins with its first batch. One stage at a time, each from its own first day: an account that
    was idle for a month has not warmed up meanwhile."""
    if warmup.stage is None or today < warmup.started_on[-1] + timedelta(days=warmup.schedule[warmup.stage - 1].days):
        return warmup
    if warmup.stage == len(warmup.schedule):
        return replace(warmup, stage=None, finished_on=today)
    return replace(warmup, stage=warmup.stage + 1, started_on=(*warmup.started_on, today))


def next_stage_on(warmup: WarmUp) -> date | None:
    """The earliest day of the next stage, or of the end."""
    stage = warmup.current
    return None if stage is None else warmup.started_on[-1] + timedelta(days=stage.days)


def stage_of(account: Account) -> Stage | None:
    return None if account.warmup is None else account.warmup.current


def limit_of(account: Account) -> int | None:
    """Messages a day: the lower of the account's own limit and its stage's. None: no limit."""
    stage = stage_of(account)
    if stage is None:
        return account.daily_limit
    return stage.limit if account.daily_limit is None else min(account.daily_limit, stage.limit)


def delay_of(account: Account) -> timedelta:
    """Between two sends: the longer one."""
    stage = stage_of(account)
    return timedelta(milliseconds=max(account.delay_ms, stage.delay_ms if stage else 0))


def batch_of(account: Account) -> int:
    stage = stage_of(account)
    return account.batch_size if stage is None else min(account.batch_size, stage.batch_size)
