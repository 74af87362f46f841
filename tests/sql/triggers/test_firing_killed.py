"""kill -9 of whoever fires: a timer has either fired or still waits, and what it sends goes once."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("killable_firing.py")


@pytest.mark.parametrize("moment", ["before", "between"])
async def test_a_worker_killed_while_firing_leaves_nothing_half_done(
    bureau: Any, tell: Callable[..., Any], database: Any, moment: str
) -> None:
    await bureau.trigger(offset="1h")
    for number in range(3):
        await bureau.take(tell(number))
    await bureau.admin.execute("update timers set due = now() - interval '1 second'")
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, SCRIPT, database.worker, moment, stderr=asyncio.subprocess.PIPE
        )
        _, complaint = await process.communicate()
        assert process.returncode == -9, complaint.decode()
    assert await bureau.count("notifications") == 0
    assert await bureau.count("timers where state = 'waiting'") == 3
    async with asyncio.timeout(30):
        # The server notices the death of the other side by itself, and then lets the rows go.
        while await bureau.firing.tick() == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert await bureau.count("notifications") == 3
    assert await bureau.count("queue") == 3
    assert await bureau.count("timers where state = 'fired'") == 3
