"""Every benchmark runs, with a handful of messages each, so that none rots. How fast they are is not looked at here."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as program
from benchmarks.results import Entry, Findings, Spread

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


def test_one_that_fails_is_named_and_costs_the_others_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def fail(*, quick: bool) -> Findings:
        raise RuntimeError("no mail server")

    async def find(*, quick: bool) -> Findings:
        return Findings([Entry(name="gate", what="verdicts", unit="1/s", ours=Spread.of([1.0]), goal="> 0")])

    modules = {"email": fail, "gate": find, "seal": fail}
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    monkeypatch.setattr(
        program.importlib, "import_module", lambda name: SimpleNamespace(measure=modules[name.rpartition(".")[2]])
    )
    with pytest.raises(SystemExit, match="email, seal"):
        program.main(["--quick", "email", "gate", "seal"])
    [written] = tmp_path.iterdir()
    assert [entry["name"] for entry in json.loads(written.read_text())["entries"]] == ["gate"]
