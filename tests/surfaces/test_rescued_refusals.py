"""A worker killed between a refusal and its settlement: whoever takes over decides as the worker would have."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.adapters.postgres.dispatch import PgDispatch
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.postgres.worker_leases import PgAddressees, PgWorkerLeases
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap import App
from waypost.bootstrap.inputs import inputs_of
from waypost.bootstrap.quiet import QuietTelemetry
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.lease import Lease
from waypost.delivery.rescue import Rescue
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint, read
from waypost.notifications.addressees import Addressees

DEAD = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.ADDRESS_UNKNOWN, code=550, hard_bounce=True)
CLOSED = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.MAILBOX_DISABLED, code=550)
BLOCKED = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, code=554)
BUSY = Outcome(kind=OutcomeKind.DEFERRED, reason=OutcomeReason.SLOW_DOWN, code=429, retry_after=7_200)


@dataclass
class Wreck:
    """Workers that die with a reply in their journal, and the one that comes after them."""

    folder: Path
    store: PgDispatch
    leases: PgWorkerLeases
    addressees: Addressees
    clock: SystemClock

    async def die_after(self, outcomes: dict[UUID, Outcome]) -> None:
        lost = mint(self.clock)
        await self.leases.renew(lost, 30)
        claimed = await self.store.claim(lost, mint(self.clock), 50)
        journal = JournalFile(self.folder, lost, slots=8)
        page = journal.open_page(claimed)
        for index, one in enumerate(claimed):
            page.going(index)
            page.answered(index, outcomes[one.id])
        assert len(claimed) == len(outcomes)
        os.close(journal._file)

    async def rescue(self) -> int:
        rescuer = mint(self.clock)
        lease = Lease(store=self.leases, clock=self.clock, worker_id=rescuer, seconds=30, tell_time=self.clock.correct)
        return await Rescue(
            workers=self.leases,
            store=self.store,
            shelf=Shelf(self.folder),
            telemetry=QuietTelemetry(),
            lease=lease,
            clock=self.clock,
            random=lambda: 0.5,
            addressees=self.addressees,
        ).by_journals()


@pytest.fixture
async def wreck(app: App, database: Any, tmp_path: Path, connect: Any) -> AsyncIterator[Wreck]:
    await ensure_partitions(await connect("worker"))
    options, clock = PoolOptions(application_name="wreck", index_plans=True, min_size=0, max_size=1), SystemClock()
    lines = [Line(database.worker, options) for _ in range(3)]
    pool = await open_pool(database.worker, options)
    keyring = PgKeyring(LocalVault(open_master_key(app.settings.master_key_path, create=False)))
    yield Wreck(
        folder=tmp_path / "journals",
        store=PgDispatch(claims=lines[0], settlements=lines[1], suppressions=PgSuppressions(), clock=clock),
        leases=PgWorkerLeases(line=lines[2], code_version=1),
        addressees=Addressees(
            work=PgWork(pool), store=PgAddressees(), keyring=keyring, inputs=inputs_of(keyring, clock)
        ),
        clock=clock,
    )
    for line in lines:
        await line.close()
    await pool.close()


async def send(caller: Any, *people: str) -> list[UUID]:
    made: list[UUID] = []
    for person in people:
        said = {"to": {"email": f"{person}@example.org"}, "content": {"subject": "s", "text": "t"}}
        [one] = (await caller.ok("POST", "/v1/notifications", said))["notifications"]
        found = read("ntf", one["id"])
        assert found is not None
        made.append(found)
    return made


async def test_refusals_mean_the_same_for_their_addresses(acme: Any, wreck: Wreck) -> None:
    dead, closed, blocked = await send(acme, "dead", "closed", "blocked")
    await wreck.die_after({dead: DEAD, closed: CLOSED, blocked: BLOCKED})
    assert await wreck.rescue() == 3
    [suppressed] = (await acme.ok("GET", "/v1/suppressions"))["items"]
    assert suppressed["reason"] == "hard_bounce"
    assert suppressed["address"].startswith("d")
    assert suppressed["address"].endswith("@example.org")
    assert "dead@" not in suppressed["address"]

    # A mailbox that is closed for the second time is as good as dead, whoever settles.
    [again] = await send(acme, "closed")
    await wreck.die_after({again: CLOSED})
    assert await wreck.rescue() == 1
    assert len((await acme.ok("GET", "/v1/suppressions"))["items"]) == 2


async def test_a_wish_to_be_left_alone_is_honoured(acme: Any, wreck: Wreck, admin: asyncpg.Connection) -> None:
    [one] = await send(acme, "busy")
    await wreck.die_after({one: BUSY})
    assert await wreck.rescue() == 1
    row = await admin.fetchrow("select due, now() as now, attempt from queue")
    due, now = row["due"], row["now"]
    assert isinstance(due, datetime)
    assert (due - now).total_seconds() > 7_100
    assert row["attempt"] == 1


async def test_whoever_was_erased_meanwhile_is_settled_without_a_word_about_their_address(
    acme: Any, wreck: Wreck, admin: asyncpg.Connection
) -> None:
    [one] = await send(acme, "erased")
    await wreck.die_after({one: DEAD})
    await admin.execute("update recipients set data_key = null, erased_at = now()")
    assert await wreck.rescue() == 1
    assert await admin.fetchval("select status from notifications") == 7
    assert (await acme.ok("GET", "/v1/suppressions"))["items"] == []
