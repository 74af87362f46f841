"""What a render child gives up before it sees the first foreign byte: memory, files, network, processes, time."""

import os
import resource
import signal
import sys
import time
from typing import Final

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.wire import Toll

PROGRESS_BYTES: Final = 4096
NOBODY: Final = 0xFFFF_FFFF
"""In the progress page: no item is being worked on."""

_MOST_OPEN_FILES: Final = 16


def confine(limits: RenderLimits) -> None:
    """Call once everything needed is imported: afterwards no file and no socket can be opened at all."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_OPEN_FILES, _MOST_OPEN_FILES))
    _use_up_descriptors()


def _use_up_descriptors() -> None:
    try:
        while True:
            os.dup(0)
    except OSError:
        return


class OwnMemory:
    """How much of its memory this process holds now. Made before `confine`, because nothing can be opened after it.

    Not the greatest it ever held: on Linux a process begins with its parent's, however small it is itself."""

    def __init__(self) -> None:
        self._statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None

    def resident(self) -> int:
        if self._statm is None:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(os.pread(self._statm, 100, 0).split()[1]) * resource.getpagesize()


class CpuBudget:
    """Counts the CPU time of a batch, and has the kernel kill this process when one item takes more than it may.

    `progress` is shared with the pool: it tells which item was being worked on when the process died.
    """

    def __init__(self, limits: RenderLimits, progress: memoryview, memory: "OwnMemory") -> None:
        self._limits = limits
        self._memory = memory
        self._progress = progress
        self._batch_began = 0.0
        self._item_began = 0.0
        self._armed = 0.0
        self._looked = 0.0
        self._slow: list[int] = []
        progress[0] = NOBODY

    def begin_batch(self) -> None:
        self._batch_began = self._item_began = time.process_time()
        self._looked = time.perf_counter()
        self._armed = 0.0
        self._slow = []

    def begin_item(self, index: int, seconds: float | None = None) -> bool:
        """False where the batch has had its time, and what is left of it should be asked again."""
        limits, wall = self._limits, time.perf_counter()
        # Asking for CPU time and setting the alarm cost as much as a small message. The CPU cannot have worked longer
        # than the clock has run, and an alarm that was just set is good for many.
        if self._armed and seconds is None and wall - self._looked < limits.slow_cpu_seconds / 10:
            self._progress[0] = index
            return True
        now = time.process_time()
        self._note_if_slow(now)
        if now - self._batch_began > limits.batch_cpu_seconds:
            return False
        self._item_began, self._looked = now, wall
        self._progress[0] = index
        signal.setitimer(signal.ITIMER_PROF, seconds or limits.item_cpu_seconds)
        self._armed = now
        return True

    def excuse(self, seconds: float) -> None:
        """Part of what the item at hand has taken is not its own doing."""
        self._item_began += seconds

    def end_batch(self, items_done: int) -> Toll:
        signal.setitimer(signal.ITIMER_PROF, 0)
        now = time.process_time()
        self._note_if_slow(now)
        self._progress[0] = NOBODY
        return Toll(now - self._batch_began, self._slow, self._is_worn(items_done))

    def _note_if_slow(self, now: float) -> None:
        if now - self._item_began > self._limits.slow_cpu_seconds and self._progress[0] != NOBODY:
            self._slow.append(self._progress[0])

    def _is_worn(self, items_done: int) -> bool:
        return self._memory.resident() > self._limits.worn_rss_bytes or items_done > self._limits.worn_items
