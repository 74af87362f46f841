"""Time limits that share one timer: each is told in time, and nobody else's."""

import asyncio

import pytest

from waypost.api.deadlines import Deadline, Deadlines

_SOON = 0.01
_NEVER = 3_600.0


async def test_what_does_not_end_in_time_is_stopped() -> None:
    deadline = Deadline(Deadlines(_SOON))
    with pytest.raises(TimeoutError), deadline:
        await asyncio.Event().wait()
    assert deadline.expired
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_what_ends_in_time_leaves_nothing_behind() -> None:
    deadlines = Deadlines(_NEVER)
    deadline = Deadline(deadlines)
    with deadline:
        await asyncio.sleep(0)
    assert not deadline.expired
    assert not deadlines.running


async def test_one_timer_watches_all_of_them() -> None:
    deadlines = Deadlines(_SOON)
    with Deadline(deadlines):
        pass

    async def stand_still() -> bool:
        try:
            with Deadline(deadlines):
                await asyncio.Event().wait()
        except TimeoutError:
            return True
        return False

    assert all(await asyncio.gather(*(stand_still() for _ in range(20))))
    assert not deadlines.running
    # The timer was set for those before; somebody who comes later is watched as well.
    assert await stand_still()


async def test_who_is_extended_begins_anew_behind_the_others() -> None:
    deadlines = Deadlines(_NEVER)
    first, second = Deadline(deadlines), Deadline(deadlines)
    with first, second:
        before = deadlines.running[first]
        assert list(deadlines.running) == [first, second]
        first.extend()
        assert list(deadlines.running) == [second, first]
        assert deadlines.running[first] >= before
    first.extend()
    assert not deadlines.running


async def test_somebody_elses_cancelling_counts_more() -> None:
    entered = asyncio.Event()
    deadline = Deadline(Deadlines(_NEVER))

    async def work() -> None:
        with deadline:
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    deadline.expire()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_itself_is_told_as_it_is() -> None:
    deadline = Deadline(Deadlines(_NEVER))
    with pytest.raises(KeyError), deadline:
        raise KeyError
    assert not deadline.expired
