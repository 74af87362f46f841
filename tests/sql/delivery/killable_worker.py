"""A worker process to kill: sends by appending each notification's id to a file, one write each, and keeps a journal.

Arguments: the worker's database URL, the journals' folder, the file of what was sent.
"""

import asyncio
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.dispatch import PgDispatch
from waypost.adapters.postgres.limits import PgLimits
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.notify import Listener
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.adapters.postgres.upkeep import PgUpkeep
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.postgres.worker_leases import PgWorkerLeases
from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.ports import EmailSender, Wire
from waypost.delivery.dispatch import Dispatcher
from waypost.delivery.dispatch_parts import DispatchParts
from waypost.delivery.gatekeeper import Gatekeeper
from waypost.delivery.lease import Lease
from waypost.delivery.model import Claimed, Settlement
from waypost.delivery.ports import Composed, Withheld
from waypost.delivery.rescue import Rescue
from waypost.delivery.settle import Settler
from waypost.delivery.upkeep import Upkeep
from waypost.delivery.worker import Worker
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint
from waypost.workers.dispatcher import run_dispatcher

WIRES = 4


class PlainKey:
    def seal(self, plain: bytes, bound_to: str) -> bytes:
        return plain

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        return sealed


class PlainComposer:
    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[Composed | Withheld]:
        return [Composed(claimed=one, email=OutgoingEmail("", (), one.id.bytes), key=PlainKey()) for one in claimed]


class FileVendor:
    """Like a mail server on `WIRES` connections: every message is taken some time before the answer comes."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._wires = asyncio.Semaphore(WIRES)

    async def email(self, tenant_id: str) -> EmailSender:
        return self

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        return await asyncio.gather(*(self._send(index, one, wire) for index, one in enumerate(messages)))

    async def _send(self, index: int, message: OutgoingEmail, wire: Wire) -> Outcome:
        async with self._wires:
            wire.going(index)
            await asyncio.sleep(random.uniform(0, 0.002))
            os.write(self._file, f"{UUID(bytes=message.data)}\n".encode())
            await asyncio.sleep(random.uniform(0, 0.002))
            outcome = Outcome(kind=OutcomeKind.ACCEPTED, code=250)
            wire.answered(index, outcome)
            return outcome

    async def close(self) -> None: ...


class NoTelemetry:
    def claimed(self, rows: int, seconds: float) -> None: ...

    def settled(self, settlements: Sequence[Settlement], seconds: float) -> None: ...

    def composed(self, answers: Sequence[object], seconds: float) -> None: ...

    def rescued(self, settlements: Sequence[Settlement]) -> None: ...

    def stands(self, standing: object) -> None: ...


async def main(dsn: str, journals: Path, sent: str) -> None:
    clock, options = SystemClock(), PoolOptions(application_name="killable", index_plans=True, max_size=2)
    pool = await open_pool(dsn, options)
    claims, settlements, leases, chores = (Line(dsn, options) for _ in range(4))
    worker_id, vendor, telemetry = mint(clock), FileVendor(sent), NoTelemetry()
    store = PgDispatch(claims=claims, settlements=settlements, suppressions=PgSuppressions(), clock=clock)
    workers = PgWorkerLeases(line=leases, code_version=1)
    lease = Lease(store=workers, clock=clock, worker_id=worker_id, seconds=30, tell_time=clock.correct)
    journal = JournalFile(journals, worker_id, slots=64)
    parts = DispatchParts(
        store=store,
        gatekeeper=Gatekeeper(
            work=PgWork(pool), delivery=PgDelivery(clock=clock, ring=lambda: None), limits=PgLimits()
        ),
        composer=PlainComposer(),
        senders=vendor,
        journal=journal,
        ear=Listener(dsn, clock),
        telemetry=telemetry,
        lease=lease,
        settler=Settler(store=store, clock=clock, worker_id=worker_id),
        clock=clock,
    )
    rescue = Rescue(
        workers=workers,
        store=store,
        shelf=Shelf(journals),
        telemetry=telemetry,
        lease=lease,
        clock=clock,
        random=random.random,
    )
    worker = Worker(
        dispatcher=Dispatcher(parts, worker_id=worker_id, batch_size=25),
        lease=lease,
        upkeep=Upkeep(store=PgUpkeep(chores), rescue=rescue, clock=clock),
        journal=journal,
    )
    print("ready", flush=True)  # noqa: T201
    await run_dispatcher(worker, drain_seconds=5)
    pool.terminate()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
