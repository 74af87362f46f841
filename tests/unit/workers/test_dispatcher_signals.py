"""The process: one signal lets the worker finish, a second one hurries it."""

import asyncio
import gc
import os
import signal

import pytest

from waypost.workers.dispatcher import run_dispatcher


class FakeWorker:
    def __init__(self, *, obeys: int = 1) -> None:
        self.graces: list[float] = []
        self.obeys = obeys
        self.began = asyncio.Event()
        self.told = asyncio.Event()
        self.ended = asyncio.Event()

    async def run(self) -> None:
        self.began.set()
        await self.ended.wait()

    async def stop(self, grace_seconds: float) -> None:
        self.graces.append(grace_seconds)
        self.told.set()
        if len(self.graces) >= self.obeys:
            self.ended.set()


@pytest.fixture(autouse=True)
def _thaw() -> object:
    yield
    gc.unfreeze()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_one_signal_ends_it_gracefully(number: int) -> None:
    worker = FakeWorker()
    running = asyncio.create_task(run_dispatcher(worker, drain_seconds=20))
    await worker.began.wait()
    os.kill(os.getpid(), number)
    await running
    assert worker.graces == [20]


async def test_a_second_signal_hurries_it() -> None:
    worker = FakeWorker(obeys=2)
    running = asyncio.create_task(run_dispatcher(worker, drain_seconds=20))
    await worker.began.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await worker.told.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert worker.graces == [20, 0]


async def test_a_worker_that_breaks_down_ends_the_process() -> None:
    class Broken(FakeWorker):
        async def run(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_dispatcher(Broken(), drain_seconds=1)
