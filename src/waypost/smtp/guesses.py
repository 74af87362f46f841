"""Who shows wrong keys waits longer each time, and is not listened to at all after too many."""

from typing import Final

from waypost.kernel.clock import Clock

_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 20.0
_SHUT_OUT_AFTER: Final = 20
_FORGOTTEN_AFTER: Final = 600.0
_MOST_REMEMBERED: Final = 50_000


class Guesses:
    """By address. Ten quiet minutes, or the right key, and it is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}

    def shuts_out(self, address: str) -> bool:
        return self._count(address) >= _SHUT_OUT_AFTER

    async def wrong(self, address: str) -> None:
        """Returns when an answer may be given."""
        count = self._count(address) + 1
        if len(self._wrong) >= _MOST_REMEMBERED:
            del self._wrong[next(iter(self._wrong))]
        self._wrong.pop(address, None)
        self._wrong[address] = (count, self._clock.monotonic())
        await self._clock.sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (count - 1)))

    def right(self, address: str) -> None:
        self._wrong.pop(address, None)

    def _count(self, address: str) -> int:
        count, since = self._wrong.get(address, (0, 0.0))
        return count if self._clock.monotonic() - since < _FORGOTTEN_AFTER else 0
