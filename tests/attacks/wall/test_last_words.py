"""8, when a process dies of it: the error that nobody expected is told by kind and place, never by its words."""

import os
import subprocess
import sys
from pathlib import Path

from waypost.bootstrap.last_words import last_words

DYING = """
import asyncio
from waypost.bootstrap.process import run
async def main(settings, stop):
    async def choke():
        raise ValueError("invalid input: jane@hush.example")
    async with asyncio.TaskGroup() as group:
        group.create_task(choke())
run("worker", main)
"""


def test_a_dying_process_does_not_repeat_what_killed_it(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    ended = subprocess.run(
        [sys.executable, "-c", DYING],
        env=environment | {"WAYPOST_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "hush" not in ended.stdout + ended.stderr
    assert "builtins.ValueError" in ended.stderr
    assert "choke" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_every_error_of_a_group_is_told() -> None:
    group = ExceptionGroup("hush", [KeyError("hush"), ExceptionGroup("hush", [OSError("hush")])])
    assert last_words(group) == ["builtins.KeyError", "builtins.OSError"]
