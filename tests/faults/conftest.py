"""One Waypost to break, for all fault journeys of a test process; each test has a tenant and workers of its own."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.stage import Stage, open_stage

_numbers = count(1)


@pytest.fixture(scope="session")
def whole_stage() -> Iterator[Stage]:
    with open_stage() as stage:
        yield stage


@pytest.fixture
def stage(whole_stage: Stage) -> Iterator[Stage]:
    yield whole_stage
    whole_stage.sink.behave_well()
    whole_stage.stop_workers()
    # What one test leaves to be tried again later must not go out in the middle of another.
    whole_stage.retire_tenants()


@pytest.fixture
def caller(stage: Stage) -> Iterator[Caller]:
    with stage.tenant() as caller:
        yield caller


@pytest.fixture
def people() -> Callable[[int], list[str]]:
    """`people(3)`: so many addresses that nobody has written to before."""
    return lambda many: [f"p{next(_numbers)}@faults.example" for _ in range(many)]
