"""Every benchmark runs, with a handful of messages each, so that none rots. How fast they are is not looked at here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks" / "entries").glob("[a-z]*.py"))


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words], cwd=ROOT, capture_output=True, text=True, timeout=290
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_and_writes_what_it_found(name: str) -> None:
    printed = run("--quick", name)
    place = ROOT / printed.splitlines()[-1].removeprefix("Written to ")
    report = json.loads(place.read_text())
    place.unlink()
    assert report["quick"] is True
    assert report["machine"]["cores"] >= 1
    for entry in report["entries"]:
        assert 0 < entry["ours"]["least"] <= entry["ours"]["middle"] <= entry["ours"]["most"]
        assert (entry["theirs"] is None) == (entry["ratio"] is None) == (entry["reference"] is None)
        assert entry["reference"] is not None or entry["goal"], "a figure alone says nothing"


def test_a_name_that_is_none_is_refused() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "nothing"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no benchmark called nothing" in done.stderr
