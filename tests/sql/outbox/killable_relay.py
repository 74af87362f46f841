"""A relay process to kill: publishes by appending lines to a file, slowly enough to be killed in between.

Arguments: the worker's database URL, the file of what was published.
"""

import asyncio
import os
import random
import sys
from collections.abc import Mapping, Sequence

from waypost.adapters.outbound.guard import Guard
from waypost.adapters.outbound.http import GuardedHttp
from waypost.adapters.outbound.judgement import Judgement
from waypost.adapters.outbound.urls import WebhookUrls
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.bootstrap.relay import relay_over
from waypost.kernel.clock import SystemClock
from waypost.outbox.ports import Outgoing
from waypost.outbox.webhook_model import Answer


class FileBroker:
    name, reader = "redis", 2

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def publish(self, events: Sequence[Outgoing]) -> Sequence[bool]:
        for event in events:
            await asyncio.sleep(random.uniform(0, 0.004))
            os.write(self._file, event.body + b"\n")
        await asyncio.sleep(random.uniform(0, 0.02))
        return [True] * len(events)

    async def close(self) -> None: ...


class Silent:
    def called(self, answers: Sequence[Answer]) -> None: ...

    def published(self, publisher: str, events: int, refused: int) -> None: ...

    def expanded(self, deliveries: int) -> None: ...

    def behind(self, waiting: Mapping[str, tuple[int, float]]) -> None: ...


async def main(dsn: str, published: str) -> None:
    options = PoolOptions(application_name="killable relay", min_size=0, max_size=3, index_plans=True)
    clock, pool = SystemClock(), await open_pool(dsn, options)
    guard = Guard(Judgement(["127.0.0.0/8"]))
    relay = relay_over(
        work=PgWork(pool),
        vault=LocalVault(MasterKey(bytes(range(32)))),
        caller=GuardedHttp(guard, clock),
        urls=WebhookUrls(guard, plain_http=False),
        publishers=[FileBroker(published)],
        telemetry=Silent(),
        clock=clock,
    )
    await relay.register()
    print("ready", flush=True)  # noqa: T201
    await relay.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
