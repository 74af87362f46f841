"""`python -m benchmarks [--quick] [NAME…]`: runs the benchmarks one after the other and prints one table of ratios."""

import argparse
import importlib
import os
import signal
import subprocess
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop
from msgspec import structs

from benchmarks.machine import describe
from benchmarks.results import Findings, Report
from benchmarks.table import print_table

NAMES = (
    "email",
    "submit",
    "bulk",
    "expand",
    "claim",
    "timers",
    "relay",
    "gate",
    "compose",
    "imports",
    "inbox",
    "tracking",
    "seal",
    "up",
)
_HERE = Path(__file__).parent
RESULTS = _HERE / "results"
LAST_RUN = _HERE / "last_run.json"
"""The committed copy of one whole run, from which docs/performance.md is made."""


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(NAMES)}; all if none")
    parser.add_argument("--quick", action="store_true", help="a few messages each: shows that they run, not how fast")
    parser.add_argument("--keep", action="store_true", help="make this run the one that docs/performance.md shows")
    asked = parser.parse_args(words)
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"there is no benchmark called {', '.join(sorted(unknown))}")
    if asked.keep and (asked.quick or asked.names):
        parser.error("only a whole run can be kept")
    # Told to stop, it must still end the servers it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    names = [name for name in NAMES if not asked.names or name in asked.names]
    blank = Report(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=_commit(),
        quick=asked.quick,
        machine=describe(),
        entries=[],
    )
    report, failed = run(names, blank)
    if asked.keep and not failed:
        LAST_RUN.write_bytes(path_of(report).read_bytes())
    print_table(report)
    written = path_of(report)
    print(f"Written to {written.relative_to(Path.cwd()) if written.is_relative_to(Path.cwd()) else written}")
    if failed:
        sys.exit(f"These failed: {', '.join(failed)}.")


def run(names: list[str], report: Report) -> tuple[Report, list[str]]:
    """The report with what was found, and the names of those that failed. Each result is written when it is there: a
    run takes long, and what its last part does must not cost the others."""
    failed: list[str] = []
    for name in names:
        print(f"running {name} …", file=sys.stderr, flush=True)
        module = importlib.import_module(f"benchmarks.entries.{name}")
        os.sync()  # what the one before has written must not be in the way of the next
        try:
            found: Findings = uvloop.run(module.measure(quick=report.quick))
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        report = structs.replace(report, entries=report.entries + found.entries, steps=report.steps | found.steps)
        write(report)
    return report, failed


def write(report: Report) -> None:
    RESULTS.mkdir(exist_ok=True)
    path_of(report).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def path_of(report: Report) -> Path:
    """A name of its own, also beside a run that began in the same second."""
    return RESULTS / f"{report.at.replace(':', '')}-{os.getpid()}{'-quick' if report.quick else ''}.json"


def _commit() -> str:
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=_HERE, check=False
    )
    return answer.stdout.strip() or "unknown"


if __name__ == "__main__":
    main(sys.argv[1:])
