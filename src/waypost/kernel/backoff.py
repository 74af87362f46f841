"""How long to wait before trying again: growing steps with full jitter, so that failures do not return together."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

Random = Callable[[], float]
"""A number from 0 up to, not including, 1."""

DELIVERY_STEPS: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=2),
    timedelta(hours=4),
)
_LEAST: Final = timedelta(seconds=1)


def delay(tries: int, random: Random, steps: Sequence[timedelta] = DELIVERY_STEPS) -> timedelta:
    """The wait after so many tries (from 1 on): anything up to the step, the last step for ever after."""
    step = steps[min(tries, len(steps)) - 1]
    return max(_LEAST, step * random())
