"""Children are started again when they die, told to stop in order, and believed when they say they cannot run."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from waypost.cli.supervisor.children import Child, StartRefusedError, spawn_afresh
from waypost.kernel.clock import SystemClock

SLEEPER = "import signal, sys, time\nopen(sys.argv[0] + '.pids', 'a').write('x')\nwhile True: time.sleep(60)\n"
POLITE = (
    "import signal, sys, time\n"
    "def end(*_):\n    open(sys.argv[0] + '.drained', 'w').close(); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, end)\nopen(sys.argv[0] + '.ready', 'w').close()\n"
    "while True: time.sleep(60)\n"
)


def child_of(folder: Path, source: str) -> tuple[Child, Path]:
    path = folder / "waypost_test_child.py"
    path.write_text(source)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    child = Child("child", "waypost_test_child", environment, clock=SystemClock(), spawn=spawn_afresh)
    return child, path


def says(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() >= text


async def wait_for(path: Path, text: str = "") -> None:
    async with asyncio.timeout(20):
        while not says(path, text):  # noqa: ASYNC110 — another process writes it
            await asyncio.sleep(0.01)


@pytest.fixture
async def keepers() -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks: list[asyncio.Task[None]] = []
    yield tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_killed_child_comes_back(tmp_path: Path, keepers: list[asyncio.Task[None]], capfd) -> None:
    child, path = child_of(tmp_path, SLEEPER)
    changes: list[int | None] = []
    await child.start()
    keepers.append(asyncio.create_task(child.keep_alive(lambda: changes.append(child.pid))))
    await wait_for(path.with_name(path.name + ".pids"), "x")
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await wait_for(path.with_name(path.name + ".pids"), "xx")
    assert child.pid not in (None, first)
    assert changes == [child.pid]
    assert "The child ended unexpectedly (SIGKILL); starting it again." in capfd.readouterr().err
    await child.stop(10)
    assert child.pid is None


async def test_a_stopped_child_may_finish_and_stays_away(tmp_path: Path) -> None:
    child, path = child_of(tmp_path, POLITE)
    await child.start()
    keeper = asyncio.create_task(child.keep_alive(lambda: None))
    await wait_for(path.with_name(path.name + ".ready"))
    await child.stop(10)
    await keeper
    assert path.with_name(path.name + ".drained").exists()


async def test_a_child_that_does_not_stop_is_ended(tmp_path: Path, capfd) -> None:
    stubborn = "import signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER
    child, path = child_of(tmp_path, stubborn)
    await child.start()
    await wait_for(path.with_name(path.name + ".pids"), "x")
    await child.stop(0.05)
    assert child.pid is None
    assert "did not stop in time" in capfd.readouterr().err


async def test_a_child_that_says_it_cannot_run_is_believed(tmp_path: Path) -> None:
    child, _ = child_of(tmp_path, "import sys\nsys.exit(78)\n")
    await child.start()
    with pytest.raises(StartRefusedError) as refusal:
        await child.keep_alive(lambda: None)
    assert refusal.value.exit_code == 78


async def test_a_child_that_once_ran_is_not_given_up(tmp_path: Path, keepers: list[asyncio.Task[None]]) -> None:
    refuses_twice = (
        "import os, sys, time\nlog = sys.argv[0] + '.pids'\nopen(log, 'a').write('x')\n"
        "if 1 < os.path.getsize(log) < 4: sys.exit(78)\nwhile True: time.sleep(60)\n"
    )
    child, path = child_of(tmp_path, refuses_twice)
    await child.start()
    keepers.append(asyncio.create_task(child.keep_alive(lambda: None)))
    await wait_for(path.with_name(path.name + ".pids"), "x")
    child.kill()
    await wait_for(path.with_name(path.name + ".pids"), "xxxx")
    assert child.pid is not None
    await child.stop(10)
