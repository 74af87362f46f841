"""Long work leaves room for others, and few things are made at once."""

import asyncio

from waypost.kernel.in_turns import AT_ONCE, in_turns


async def test_all_are_made_in_order_and_others_run_in_between() -> None:
    heard: list[str] = []

    async def other() -> None:
        while len(heard) < 3:
            heard.append("other")
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    made = await in_turns(lambda number: (number, len(heard)), range(3 * AT_ONCE + 1))
    await beside
    assert [number for number, _ in made] == list(range(3 * AT_ONCE + 1))
    assert [heard_by for _, heard_by in made[::AT_ONCE]] == [0, 1, 2, 3]


async def test_few_are_made_without_a_break() -> None:
    beside = asyncio.create_task(asyncio.sleep(0))
    assert await in_turns(str, range(AT_ONCE)) == [str(number) for number in range(AT_ONCE)]
    assert not beside.done()
    await beside
    assert await in_turns(str, []) == []
