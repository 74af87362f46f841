"""`python -m benchmarks [--quick] [NAME…]`: runs the benchmarks one after the other and prints one table of ratios."""

import argparse
import importlib
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop

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
    report = run([name for name in NAMES if not asked.names or name in asked.names], quick=asked.quick)
    written = write(report, keep=asked.keep)
    print_table(report)
    print(f"Written to {written.relative_to(Path.cwd()) if written.is_relative_to(Path.cwd()) else written}")


def run(names: list[str], *, quick: bool) -> Report:
    machine = describe()
    findings = Findings([])
    for name in names:
        print(f"running {name} …", file=sys.stderr, flush=True)
        module = importlib.import_module(f"benchmarks.entries.{name}")
        found: Findings = uvloop.run(module.measure(quick=quick))
        findings = Findings(findings.entries + found.entries, findings.steps | found.steps)
    return Report(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=_commit(),
        quick=quick,
        machine=machine,
        entries=findings.entries,
        steps=findings.steps,
    )


def write(report: Report, *, keep: bool) -> Path:
    text = msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{report.at.replace(':', '')}{'-quick' if report.quick else ''}.json"
    path.write_bytes(text)
    if keep:
        LAST_RUN.write_bytes(text)
    return path


def _commit() -> str:
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=_HERE, check=False
    )
    return answer.stdout.strip() or "unknown"


if __name__ == "__main__":
    main(sys.argv[1:])
