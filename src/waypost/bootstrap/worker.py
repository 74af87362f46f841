"""A worker, joined to its stores, its senders and its journal."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final, Protocol

from prometheus_client import CollectorRegistry

from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.batches import PgBatchBoard
from waypost.adapters.postgres.blobs import PgBlobs
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.dispatch import PgDispatch
from waypost.adapters.postgres.inbox_delivery import PgInboxDelivery
from waypost.adapters.postgres.inbox_upkeep import PgInboxUpkeep
from waypost.adapters.postgres.limits import PgLimits
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.migrate import code_version
from waypost.adapters.postgres.notify import Bell, Listener
from waypost.adapters.postgres.pauses import PgHolds, PgPauseBoard
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring, PgTenantStore
from waypost.adapters.postgres.upkeep import PgUpkeep
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.postgres.worker_leases import PgAddressees, PgWorkerLeases
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.clock_sync import database_clock
from waypost.bootstrap.consent import links_of
from waypost.bootstrap.database import worker_url
from waypost.bootstrap.domains import outgoing_of, recheck_of
from waypost.bootstrap.event_chores import open_event_chores
from waypost.bootstrap.identity import identity_of
from waypost.bootstrap.inbox import inbox_bell_of
from waypost.bootstrap.inputs import inputs_of
from waypost.bootstrap.jobs import join_job_runner
from waypost.bootstrap.own_time import OwnTime, TimedDispatch
from waypost.bootstrap.readiness import Readiness
from waypost.bootstrap.relay import CONNECTIONS, open_relay
from waypost.bootstrap.sender_accounts import capacity_of, pool_of, vendors_of
from waypost.bootstrap.senders import TenantSenders
from waypost.bootstrap.traced import TracedComposer, TracedDispatch
from waypost.bootstrap.tracing import tracing_of
from waypost.bootstrap.tracking import instruments_of
from waypost.delivery.dispatch import Dispatcher
from waypost.delivery.dispatch_parts import DispatchParts
from waypost.delivery.gatekeeper import Gatekeeper
from waypost.delivery.holding import Holding
from waypost.delivery.lease import Lease
from waypost.delivery.pause_book import PauseBook
from waypost.delivery.ports import Telemetry
from waypost.delivery.rescue import Rescue
from waypost.delivery.settle import Settler
from waypost.delivery.standing import TellStanding
from waypost.delivery.strays import Strays
from waypost.delivery.upkeep import Chore, Upkeep
from waypost.delivery.worker import Worker
from waypost.inbox.sweep import Sweep
from waypost.kernel.blobs import Blobs
from waypost.kernel.ids import mint
from waypost.notifications.addressees import Addressees
from waypost.notifications.compose import MailComposer
from waypost.notifications.tails import Tails
from waypost.outbox.ports import RelayTelemetry
from waypost.outbox.relay import Relay
from waypost.settings import Settings
from waypost.templates.versions import Versions
from waypost.tenants.audit import Audit
from waypost.tenants.platform import verify_master_key

_FOR_JOBS: Final = 1
_OWN_LINES: Final = 6
"""Claims, settlements, leases, upkeep, pauses and the ear have a connection each; the pool has the rest."""
_JOURNALS: Final = "journal"
_DEPTH: Final = 4
"""One batch is claimed and composed while two are on the wire and the last is written down: with one less, the cores
stand still for a twentieth more of the time."""


class WorkerTelemetry(Telemetry, RelayTelemetry, Protocol): ...


class Crew:
    """A worker with a relay beside it: they live and end together."""

    def __init__(self, worker: Worker, relay: Relay) -> None:
        self._worker = worker
        self._relay = relay

    async def run(self) -> None:
        relaying = asyncio.create_task(self._relay.run())
        try:
            await self._worker.run()
        finally:
            relaying.cancel()
            await asyncio.gather(relaying, return_exceptions=True)

    async def stop(self, grace_seconds: float) -> None:
        await asyncio.gather(self._relay.stop(grace_seconds), self._worker.stop(grace_seconds))


@asynccontextmanager
async def open_worker(
    settings: Settings,
    telemetry: WorkerTelemetry,
    registry: CollectorRegistry | None = None,
    *,
    own_time: OwnTime | None = None,
) -> AsyncGenerator[Worker | Crew]:
    """Refuses to start on a schema or a master key that does not fit. With a time of its own it only sends."""
    master = open_master_key(settings.master_key_path, create=False)
    dsn = worker_url(settings, master)
    async with AsyncExitStack() as stack:
        taken = _OWN_LINES + _FOR_JOBS + (CONNECTIONS if settings.relay == "on" else 0)
        options = PoolOptions(
            application_name="waypost worker",
            max_size=settings.worker_connections - taken,
            index_plans=True,
            search_path=own_time.search_path if own_time else "waypost",
        )
        pool = await open_pool(dsn, options)
        stack.push_async_callback(pool.close)
        await Readiness(pool).check()
        clock = own_time.clock if own_time else await stack.enter_async_context(database_clock(pool))
        claims, settlements, leases, chores, paused = (Line(dsn, options) for _ in range(_OWN_LINES - 1))
        pauses = PauseBook(board=PgPauseBoard(paused), clock=clock)
        listener, bell = Listener(dsn, clock, also=pauses.ring), Bell(dsn, clock)
        renderer = RenderPool(clock=clock)
        for closable in (claims, settlements, leases, chores, paused, listener, bell, renderer):
            stack.push_async_callback(closable.close)
        await renderer.warm()

        work, vault, tenants = PgWork(pool), LocalVault(master), PgTenantStore()
        keyring, identity = PgKeyring(vault), identity_of(settings)
        await verify_master_key(work, tenants, vault)
        vendors = vendors_of(settings, clock)
        stack.push_async_callback(vendors.close)
        senders = TenantSenders(
            settings=settings,
            identity=identity,
            work=work,
            tenants=tenants,
            accounts=pool_of(vendors, work=work, keyring=keyring, clock=clock),
        )
        stack.push_async_callback(senders.close)

        worker_id = mint(clock)
        tracing = tracing_of(settings, "worker")
        if tracing is not None:
            stack.callback(tracing.close)
        inbox_bell = inbox_bell_of(settings, dsn, clock)
        stack.push_async_callback(inbox_bell.close)
        store = PgDispatch(
            claims=claims,
            settlements=settlements,
            suppressions=PgSuppressions(),
            clock=clock,
            inboxes=PgInboxDelivery(bell=inbox_bell, clock=clock),
        )
        dispatch = TracedDispatch(store, tracing.tracer) if tracing else store
        if own_time:
            dispatch = TimedDispatch(store, own_time.timekeeper)
        workers = PgWorkerLeases(line=leases, code_version=code_version())
        lease = Lease(store=workers, clock=clock, worker_id=worker_id, seconds=settings.lease, tell_time=clock.correct)
        settler = Settler(store=dispatch, clock=clock, worker_id=worker_id)
        journals = settings.data_dir / _JOURNALS
        journal = JournalFile(journals, worker_id, settings.batch_size * _DEPTH)
        versions = Versions(store=PgVersionStore(), renderer=renderer, keyring=keyring, clock=clock)
        delivery = PgDelivery(clock=clock, ring=bell.ring)
        inputs = inputs_of(keyring, clock)
        composer = MailComposer(
            work=work,
            tenants=tenants,
            keyring=keyring,
            versions=versions,
            renderer=renderer,
            identity=identity,
            links=links_of(settings),
            outgoing=outgoing_of(settings, work=work, keyring=keyring, clock=clock),
            instruments=instruments_of(settings, clock),
            tails=Tails(work=work, blobs=Blobs(PgBlobs()), keyring=keyring),
            inputs=inputs,
            clock=clock,
        )
        parts = DispatchParts(
            store=dispatch,
            gatekeeper=Gatekeeper(work=work, delivery=delivery, limits=PgLimits()),
            composer=TracedComposer(composer, tracing.tracer) if tracing else composer,
            senders=senders,
            journal=journal,
            ear=own_time.ear if own_time else listener,
            telemetry=telemetry,
            lease=lease,
            settler=settler,
            clock=clock,
            capacity=capacity_of(work=work, keyring=keyring, clock=clock, is_paused=pauses.is_paused),
            pauses=pauses,
        )
        rescue = Rescue(
            workers=workers,
            store=store,
            shelf=Shelf(journals),
            telemetry=telemetry,
            lease=lease,
            clock=clock,
            random=random.random,
            addressees=Addressees(work=work, store=PgAddressees(), keyring=keyring, inputs=inputs),
        )
        depth = own_time.depth if own_time else _DEPTH
        dispatcher = Dispatcher(parts, worker_id=worker_id, batch_size=settings.batch_size, depth=depth)
        strays = Strays(workers=workers, settler=settler, clock=clock, worker_id=worker_id, in_hand=dispatcher.in_hand)
        upkeep = PgUpkeep(chores)
        # Jobs write thousands of rows at once, for which the plans of the dispatcher are the wrong ones.
        for_jobs = await open_pool(dsn, PoolOptions(application_name="waypost worker jobs", min_size=0, max_size=1))
        stack.push_async_callback(for_jobs.close)
        jobs = join_job_runner(
            line=chores, work=PgWork(for_jobs), keyring=keyring, clock=clock, worker_id=worker_id, ring=bell.ring
        )
        holding = Holding(PgHolds(chores, clock))
        more = [
            Chore(name="give_back_strays", every=5.0, do=strays.give_back),
            Chore(name="tell_standing", every=15.0, do=TellStanding(upkeep, telemetry)),
            Chore(name="read_pauses", every=1.0, do=pauses.keep_fresh),
            Chore(name="hold_paused", every=2.0, do=holding.work_off),
            Chore(name="tidy_held", every=30.0, do=holding.tidy),
            Chore(name="jobs", every=2.0, do=jobs.work_off),
            Chore(name="tidy_jobs", every=600.0, do=jobs.tidy),
            Chore(
                name="sweep_inboxes",
                every=15.0,
                do=Sweep(work=work, store=PgInboxUpkeep(work), bell=inbox_bell, clock=clock),
            ),
        ]
        recheck = recheck_of(settings, work=work, audit=Audit(PgAuditStore(), clock), clock=clock)
        more.append(Chore(name="recheck_domains", every=60.0, do=recheck))
        more += await stack.enter_async_context(
            open_event_chores(
                settings,
                work=work,
                versions=versions,
                renderer=renderer,
                keyring=keyring,
                delivery=delivery,
                registry=registry or CollectorRegistry(),
                clock=clock,
                board=PgBatchBoard(chores),
            )
        )
        relay: Relay | None = None
        if settings.relay == "on":
            relay, tell = await stack.enter_async_context(open_relay(settings, dsn, vault, telemetry, clock))
            more.append(Chore(name="tell_relay_standing", every=15.0, do=tell))
        news_kept = timedelta(days=settings.replay_days)
        keeping = Upkeep(store=upkeep, rescue=rescue, clock=clock, news_kept=news_kept, more=more)
        if own_time:
            keeping.chores = ()
        worker = Worker(
            dispatcher=dispatcher,
            lease=lease,
            upkeep=keeping,
            journal=journal,
        )
        yield Crew(worker, relay) if relay else worker
