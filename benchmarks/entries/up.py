"""`waypost up` as a newcomer meets it: how soon the first message is in the mailbox, and how much memory it holds."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.processes import command_of, proportional_bytes, tree_of
from benchmarks.results import Entry, Findings, Spread

_CLOSING_LINE = b"Ctrl-C stops everything"
_FIRST_SECONDS = 5.0
_IDLE_MB = 150.0
_REST_SECONDS = 65.0
"""By then whatever waits for work for a while has left."""
_LONGEST_SECONDS = 120.0
"""A greeting that has not come by then does not come."""


async def measure(*, quick: bool) -> Findings:
    rounds = 1 if quick else 3
    seconds: list[float] = []
    parts: dict[str, float] = {}
    if not quick:
        # An installed program has been compiled, a fresh checkout not yet.
        await asyncio.to_thread(_once, 0.0)
    for number in range(rounds):
        took, parts = await asyncio.to_thread(_once, 0.0 if quick or number < rounds - 1 else _REST_SECONDS)
        seconds.append(took)
    first = Entry(
        name="first message",
        what="`waypost up` in an empty directory until the first message is in the mailbox",
        unit="s",
        ours=Spread.of(seconds),
        goal=f"< {_FIRST_SECONDS:g} s",
        met=Spread.of(seconds).middle < _FIRST_SECONDS,
        rounds=rounds,
    )
    idle = Entry(
        name="memory",
        what="`waypost up` after a quiet minute, all processes but the database's (PSS)",
        unit="MB",
        ours=Spread.of([sum(parts.values())]),
        goal=f"< {_IDLE_MB:g} MB",
        met=sum(parts.values()) < _IDLE_MB,
        rounds=1,
        notes=[f"{name} {size:.0f} MB" for name, size in parts.items()],
    )
    return Findings([first, idle], {})


def _once(rest: float) -> tuple[float, dict[str, float]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "PYTHON"))}
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as folder:
        data_dir = Path(folder) / "data"
        program = str(Path(sys.executable).with_name("waypost"))
        begun = time.perf_counter()
        process = subprocess.Popen(
            [program, "up", "--data-dir", str(data_dir), "--port", "0"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        impatience = threading.Timer(_LONGEST_SECONDS, process.kill)
        impatience.start()
        try:
            _read_until_greeted(process)
            seconds = time.perf_counter() - begun
            time.sleep(rest)
            return seconds, _memory_of(process.pid, data_dir)
        finally:
            impatience.cancel()
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def _read_until_greeted(process: "subprocess.Popen[bytes]") -> None:
    said = b""
    assert process.stdout is not None
    while line := process.stdout.readline():
        said += line
        if _CLOSING_LINE in line:
            return
    raise RuntimeError(f"waypost up ended: {said.decode(errors='replace')[-2_000:]}")


def _memory_of(pid: int, data_dir: Path) -> dict[str, float]:
    """Megabytes by process; the database's tree is left out."""
    postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    status: dict[str, object] = json.loads((data_dir / "up.json").read_text())
    names = {status["supervisor"]: "supervisor", status["api"]: "API", status["worker"]: "worker"}
    sizes: dict[str, float] = {}
    for one in tree_of(pid, without=frozenset({postmaster})):
        name = "render processes" if "render.child" in command_of(one) else names.get(one, "other processes")
        sizes[name] = sizes.get(name, 0.0) + proportional_bytes(one) / 1e6
    return sizes
