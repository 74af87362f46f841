"""How often something may be tried: so many times in a while, counted in bounded memory."""

from collections import OrderedDict

from waypost.kernel.clock import Clock
from waypost.kernel.errors import RateLimited


class Pace:
    def __init__(self, clock: Clock, *, times: int, seconds: float, most: int = 20_000) -> None:
        self._clock = clock
        self._times = times
        self._seconds = seconds
        self._most = most
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def step(self, who: str) -> None:
        """Counts one try, and refuses it where there were too many."""
        now = self._clock.monotonic()
        ends, count = self._counts.pop(who, (now + self._seconds, 0))
        if now >= ends:
            ends, count = now + self._seconds, 0
        self._counts[who] = (ends, count + 1)
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        if count >= self._times:
            raise RateLimited("Too many requests. Try again in a minute.", retry_after=max(1, int(ends - now)))
