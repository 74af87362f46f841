"""What a render child gives up before it sees the first foreign byte: memory, files, network, processes, time."""

import os
import resource
import signal
import time
from typing import Final

from waypost.adapters.render.limits import RenderLimits

PROGRESS_BYTES: Final = 4096
NOBODY: Final = 0xFFFF_FFFF
"""In the progress page: no item is being worked on."""

_MOST_OPEN_FILES: Final = 16


def confine(limits: RenderLimits) -> None:
    """Call once everything needed is imported: afterwards no file and no socket can be opened at all."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
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


class CpuBudget:
    """Kills this process, by the kernel's own timer, when an item or a batch uses more CPU than it may.

    `progress` is shared with the pool: it tells which item was being worked on when the process died, and whether that
    item had its full share of time (then it is the culprit) or merely came last in an expensive batch.
    """

    def __init__(self, limits: RenderLimits, progress: memoryview) -> None:
        self._limits = limits
        self._progress = progress
        self._batch_end = 0.0
        progress[0] = NOBODY

    def begin_batch(self, items: int) -> None:
        self._batch_end = time.process_time() + self._limits.batch_cpu(items)

    def begin_item(self, index: int) -> None:
        share = self._limits.item_cpu_seconds
        left = self._batch_end - time.process_time()
        self._progress[1] = left >= share
        self._progress[0] = index
        signal.setitimer(signal.ITIMER_PROF, min(share, max(left, 0.001)))

    def end_batch(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._progress[0] = NOBODY
