"""How many workers run on this machine, and on which port each tells its metrics."""

import dataclasses
import os
from collections.abc import Iterator

from waypost.settings import Settings


def worker_settings(settings: Settings, chosen: int | None) -> Iterator[Settings]:
    """Those of each worker. Their metrics' ports follow each other where somebody has `chosen` the first; otherwise the
    first has the usual one and each of the others any free one, because the next is somebody else's."""
    yield settings
    for place in range(1, number_of(settings)):
        yield dataclasses.replace(settings, worker_metrics_port=chosen + place if chosen else 0)


def number_of(settings: Settings) -> int:
    return _cores() if settings.processes == "auto" else int(settings.processes)


def _cores() -> int:
    """Those that this process may use, which in a container are fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
