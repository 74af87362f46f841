"""Work that makes very many values and drops them again, none in a ring: to look for rings meanwhile costs a third
more.

While any such work is under way nobody looks; what others leave behind waits until it is done.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


class _Pause:
    def __init__(self) -> None:
        self.depth = 0
        self.was_on = False


_pause = _Pause()


@contextmanager
def uncollected() -> Generator[None]:
    if _pause.depth == 0:
        _pause.was_on = gc.isenabled()
        gc.disable()
    _pause.depth += 1
    try:
        yield
    finally:
        _pause.depth -= 1
        if _pause.depth == 0 and _pause.was_on:
            gc.enable()
