"""kill -9 of real worker processes, again and again: nothing lost, marketing never doubled, few doubts."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from waypost.adapters.journal.shelf import Shelf
from waypost.delivery.model import State
from waypost.kernel.vocabulary import Category

SCRIPT = Path(__file__).with_name("killable_worker.py")
WIRES = 4
KILLS = 4


async def start(database: Any, journals: Path, sent: Path) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, SCRIPT, database.worker, journals, sent, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


def read(sent: Path) -> Counter[UUID]:
    return Counter(UUID(line) for line in sent.read_text().split()) if sent.exists() else Counter()


async def end(process: asyncio.subprocess.Process, number: int) -> int:
    process.send_signal(number)
    code = await process.wait()
    process._transport.close()  # type: ignore[attr-defined]
    return code


@pytest.mark.timeout(120)
async def test_killed_workers_lose_nothing_and_double_no_marketing(office: Any, database: Any, tmp_path: Path) -> None:
    journals, sent = tmp_path / "journals", tmp_path / "sent"
    adverts = await office.submit(900, category=Category.MARKETING)
    letters = await office.submit(900)
    for round_ in range(KILLS):
        process = await start(database, journals, sent)
        goal = (round_ + 1) * 250 + random.randint(0, 100)
        await office.until(lambda goal=goal: _sent_at_least(sent, goal))
        await end(process, signal.SIGKILL)

    process = await start(database, journals, sent)
    await office.until(lambda: _all_ended(office))
    assert await end(process, signal.SIGTERM) == 0

    taken = read(sent)
    states = await office.states([*adverts, *letters])
    unconfirmed = [one for one in adverts if states[one] is State.UNCONFIRMED]
    assert all(taken[one] == 1 for one in adverts if states[one] is State.DISPATCHED)
    assert all(taken[one] <= 1 for one in adverts)
    assert {states[one] for one in letters} == {State.DISPATCHED}
    assert all(taken[one] >= 1 for one in letters)
    doubled = sum(1 for one in letters if taken[one] > 1)
    in_doubt = await office.count("attempts", "outcome = 5 and reason = 'worker_lost'")
    assert len(unconfirmed) + doubled <= in_doubt <= KILLS * WIRES
    assert await office.count("claims") == await office.count("queue") == 0
    # A dead worker's journal stays until its lease has run out: its last claim may still be committed.
    heir = await office.worker()
    await office.admin.execute("update workers set lease_until = now() - interval '1 second' where id <> $1", heir.id)
    assert await heir.rescue(shelf=Shelf(journals)).by_journals() == 0
    assert os.listdir(journals) == []  # noqa: PTH208


async def _sent_at_least(sent: Path, goal: int) -> bool:
    return sum(read(sent).values()) >= goal


async def _all_ended(office: Any) -> bool:
    return await office.count("queue") == 0 and await office.count("attempts", "outcome is null") == 0
