"""A worker that fires what is due and is killed at a named moment: `before` it submits, or `between` submit and commit.

Arguments: the worker's database URL, the moment.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.bootstrap.events import join_firing
from waypost.bootstrap.submitting import join_submit
from waypost.kernel.clock import SystemClock
from waypost.templates.versions import Versions


class Silent:
    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


async def main(dsn: str, moment: str) -> None:
    clock, silent = SystemClock(), Silent()
    keyring, renderer = PgKeyring(LocalVault(MasterKey(bytes(range(32))))), RenderPool(clock=clock)
    pool = await open_pool(dsn, PoolOptions(application_name="killable", max_size=2, index_plans=True))
    delivery = PgDelivery(clock=clock, ring=lambda: None)
    versions = Versions(store=PgVersionStore(), renderer=renderer, keyring=keyring, clock=clock)
    joined = join_submit(
        versions=versions, renderer=renderer, keyring=keyring, delivery=delivery, telemetry=silent, clock=clock
    )
    firing: Any = join_firing(
        work=PgWork(pool), joined=joined, delivery=delivery, keyring=keyring, telemetry=silent, clock=clock
    )
    whole = firing._submit_due

    async def die(tx: Any, timers: Sequence[Any]) -> Any:
        ends = await whole(tx, timers) if moment == "between" else ()
        if timers:
            os.kill(os.getpid(), signal.SIGKILL)
        return ends

    firing._submit_due = die
    await firing.tick()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
