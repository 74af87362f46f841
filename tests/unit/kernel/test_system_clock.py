"""The clock of real processes: the database sets it, the host's ticks carry it on."""

from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from waypost.kernel import clock as module
from waypost.kernel.clock import SystemClock


def test_a_host_that_is_put_forward_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    before = clock.now()

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + timedelta(minutes=10)

    monkeypatch.setattr(module, "datetime", Later)
    assert timedelta(0) <= clock.now() - before < timedelta(minutes=1)


def test_it_is_set_by_the_database_and_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([100.0, 200.0, 207.5])
    monkeypatch.setattr(module.time, "clock_gettime", lambda _: next(ticks))
    clock = SystemClock()
    moment = datetime(2031, 5, 1, tzinfo=UTC)
    clock.correct(moment)
    assert clock.now() == moment + timedelta(seconds=7.5)
