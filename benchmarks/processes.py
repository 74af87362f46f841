"""What processes cost, as the kernel counts it."""

import os
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


def tree_of(pid: int, *, without: frozenset[int] = frozenset()) -> list[int]:
    """The process and everything below it, leaving out the trees of `without`."""
    if pid in without:
        return []
    try:
        below = children_of(pid)
    except FileNotFoundError:
        return []
    return [pid, *(one for child in below for one in tree_of(child, without=without))]


def cpu_seconds(pid: int) -> float:
    """Of one process with all its threads, and of those children that it has already waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(field) for field in fields[11:15]) * _TICK


def cpu_of_tree(pid: int) -> float:
    return sum(cpu_seconds(one) for one in tree_of(pid))


def proportional_bytes(pid: int) -> int:
    """PSS: memory shared by several processes counts for each in part, so that a sum counts it once."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except FileNotFoundError:
        return ""
