"""Runs a module of ours in a process with a lease shorter than operators may choose, or on a host whose clock is wrong.

    python -m benchmarks.chaos.odd_host waypost.workers LEASE_SECONDS SKEW_SECONDS

SIGUSR1 makes the host's clock jump forward by ten minutes, SIGUSR2 back by as much. `crash_points` says how the process
is made to die at a chosen place.
"""

import dataclasses
import runpy
import signal
import sys
import time
from datetime import datetime, timedelta, tzinfo

from benchmarks.chaos.crash_points import set_trap
from waypost.bootstrap import process
from waypost.kernel import clock
from waypost.settings import Settings, load

_JUMP = timedelta(minutes=10)
_true_time = time.time


class WrongTime(datetime):
    skew = timedelta(0)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + cls.skew


def _jump(number: int, _: object) -> None:
    WrongTime.skew += _JUMP if number == signal.SIGUSR1 else -_JUMP


def main() -> None:
    module, lease, skew = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    WrongTime.skew = timedelta(seconds=skew)
    clock.datetime = WrongTime  # pyright: ignore[reportPrivateImportUsage]
    time.time = lambda: _true_time() + WrongTime.skew.total_seconds()
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, _jump)

    def load_with_lease() -> Settings:
        return dataclasses.replace(load(), lease=lease)

    process.load = load_with_lease
    set_trap()
    sys.argv = [module]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main()
