"""Counts failed sign-ins by address: guessing 256 bits is hopeless, and this keeps it quiet too."""

from collections import OrderedDict, deque
from typing import Final

from waypost.kernel.clock import Clock
from waypost.kernel.errors import RateLimited

MOST_FAILED: Final = 10
WITHIN_SECONDS: Final = 300.0
_MOST_ADDRESSES: Final = 10_000


class SignInAttempts:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, address: str) -> None:
        failed = self._recent(address)
        if len(failed) >= MOST_FAILED:
            wait = failed[0] + WITHIN_SECONDS - self._clock.monotonic()
            raise RateLimited(
                "Too many keys that were not right. Wait a few minutes.",
                retry_after=max(1, int(wait)),
                code="too_many_sign_ins",
            )

    def note_failure(self, address: str) -> None:
        failed = self._recent(address)
        failed.append(self._clock.monotonic())
        self._failed[address] = failed
        self._failed.move_to_end(address)
        if len(self._failed) > _MOST_ADDRESSES:
            self._failed.popitem(last=False)

    def _recent(self, address: str) -> deque[float]:
        failed = self._failed.get(address, deque[float]())
        while failed and failed[0] + WITHIN_SECONDS <= self._clock.monotonic():
            failed.popleft()
        return failed
