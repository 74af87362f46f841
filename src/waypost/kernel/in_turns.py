"""Long work in small pieces: others on the loop get their time in between, the answers of a database first of all."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

AT_ONCE: Final = 50
"""Enough that going around costs nothing, and few enough that nobody waits for a whole millisecond."""
Given = TypeVar("Given")
Made = TypeVar("Made")


async def in_turns(make: Callable[[Given], Made], given: Sequence[Given]) -> list[Made]:
    """What `make` makes of each, in order. Few of them are made without a break."""
    made = [make(one) for one in given[:AT_ONCE]]
    for start in range(AT_ONCE, len(given), AT_ONCE):
        await asyncio.sleep(0)
        made += [make(one) for one in given[start : start + AT_ONCE]]
    return made
