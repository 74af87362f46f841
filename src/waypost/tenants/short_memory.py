"""Remembers a bounded number of things for a bounded time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from waypost.kernel.clock import Clock

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


class ShortMemory(Generic[Key, Thing]):
    def __init__(self, clock: Clock, *, seconds: float, most: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._kept: OrderedDict[Key, tuple[float, Thing]] = OrderedDict()

    def recall(self, key: Key) -> Thing | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if self._clock.monotonic() >= kept[0]:
            del self._kept[key]
            return None
        return kept[1]

    def keep(self, key: Key, thing: Thing) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (self._clock.monotonic() + self._seconds, thing)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, matches: Callable[[Thing], bool]) -> None:
        for key in [key for key, (_, thing) in self._kept.items() if matches(thing)]:
            del self._kept[key]
