"""Random bytes in pieces of one size, asked of the system many at a time: one by one they cost more than their use."""

import os
from typing import Final

_AT_ONCE: Final = 256


class Pieces:
    """No piece is given twice, not to two threads and not to a process and its child."""

    __slots__ = ("_ready", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._ready: list[bytes] = []
        os.register_at_fork(after_in_child=self._ready.clear)

    def take(self) -> bytes:
        while True:
            try:
                # Taking the last of a list is one step, which no other thread can share.
                return self._ready.pop()
            except IndexError:
                size, block = self._size, os.urandom(self._size * _AT_ONCE)
                self._ready += [block[start : start + size] for start in range(0, len(block), size)]
