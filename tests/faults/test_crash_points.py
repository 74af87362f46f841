"""A worker dies at each named point of its road; whoever comes after it loses nothing, and only what was on the wire is
in doubt."""

from collections.abc import Callable

import pytest
from benchmarks.chaos.account import Sent, take_account
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.crash_points import POINTS
from benchmarks.chaos.stage import CONNECTIONS, Stage, eventually

People = Callable[[int], list[str]]
CATEGORIES = ("transactional", "marketing")


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_that_dies_there_leaves_nothing_to_luck(
    stage: Stage, caller: Caller, people: People, point: str
) -> None:
    sent = {
        to: Sent(name, category) for category in CATEGORIES for to, name in caller.send(people(30), category).items()
    }
    dead = stage.start_doomed_worker(f"{point}:2", batch_size=20)
    stage.start_worker()
    eventually(lambda: not caller.unfinished(), "an end for all")

    account = take_account(stage, sent, [caller])
    assert dead.id is not None
    assert account.broken([dead.id], CONNECTIONS) == []
    assert account.states["dispatched"] + account.states["unconfirmed"] == len(sent)
