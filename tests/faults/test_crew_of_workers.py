"""Several workers under one command: one is killed, another takes its place, and nothing is lost."""

import signal
from collections.abc import Callable

import psutil
from benchmarks.chaos.account import Sent, take_account
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.stage import CONNECTIONS, Stage, eventually

People = Callable[[int], list[str]]


def test_one_of_two_is_killed_and_nothing_is_lost(stage: Stage, caller: Caller, people: People) -> None:
    stage.sink.behave(hold=True)
    crew = stage.start_crew(processes=2, batch_size=20)
    try:
        eventually(lambda: len(stage.crew_of(crew)) == 2, "two workers")
        accepted = caller.send(people(60))
        eventually(lambda: stage.sink.held >= CONNECTIONS, "messages on the wire")
        victim, *others = stage.crew_of(crew)
        psutil.Process(victim).kill()
        stage.sink.behave_well()
        eventually(lambda: len(now := stage.crew_of(crew)) == 2 and victim not in now, "another in its place")
        accepted |= caller.send(people(20))
        eventually(lambda: not caller.unfinished(), "an end for all")
        assert set(others) <= set(stage.crew_of(crew))

        account = take_account(stage, {to: Sent(name, "transactional") for to, name in accepted.items()}, [caller])
        assert account.states == {"dispatched": 80}
        assert account.lost == 0
        assert account.doubled.total() <= account.in_doubt.total() <= CONNECTIONS
    finally:
        crew.signal(signal.SIGTERM)
        assert crew.stop() == 0
    assert stage.crew_of(crew) == []
