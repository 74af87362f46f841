"""The App of an API process."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry

from waypost.adapters.objects.folder import ObjectFolder
from waypost.adapters.postgres.activity import PgActivity
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.blobs import PgBlobs, PgForgetFiles
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.forget_timers import PgForgetTimers
from waypost.adapters.postgres.idempotency import PgIdempotencyStore
from waypost.adapters.postgres.limits import PgLimits
from waypost.adapters.postgres.mailbox import PgMailboxStore
from waypost.adapters.postgres.notifications import PgNotifications
from waypost.adapters.postgres.notify import Bell
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgApiKeyStore, PgKeyring, PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.alerts import alerts_of, open_alert_chores, watching
from waypost.bootstrap.app import App
from waypost.bootstrap.clock_sync import database_clock
from waypost.bootstrap.consent import join_preferences, join_suppressions, join_wishes
from waypost.bootstrap.database import api_url
from waypost.bootstrap.domains import book_of, join_domains, places_of
from waypost.bootstrap.event_metrics import EventMetrics
from waypost.bootstrap.events import join_events
from waypost.bootstrap.everywhere import everywhere_of
from waypost.bootstrap.identity import identity_of
from waypost.bootstrap.inbox import inbox_bell_of, inbox_ear_of, join_heirs, join_inbox
from waypost.bootstrap.inputs import inputs_of
from waypost.bootstrap.jobs import join_jobs
from waypost.bootstrap.operations import operations_of
from waypost.bootstrap.own_time import OwnTime
from waypost.bootstrap.readiness import Readiness
from waypost.bootstrap.recipients import join_recipients
from waypost.bootstrap.sender_accounts import join_senders, vendors_of
from waypost.bootstrap.submit_metrics import SubmitMetrics
from waypost.bootstrap.submitting import join_submit
from waypost.bootstrap.templates import templates_of
from waypost.bootstrap.traced import TracedSubmit
from waypost.bootstrap.tracing import tracing_of
from waypost.bootstrap.tracking import join_visits, tracking_log
from waypost.bootstrap.webhooks import webhooks_of
from waypost.delivery.limit_desk import LimitDesk
from waypost.kernel.attachments import FileLimits
from waypost.kernel.blobs import Blobs
from waypost.mailbox.read import Mailbox
from waypost.notifications.activity import ActivityReader
from waypost.notifications.bulk import SubmitBulk
from waypost.notifications.cancel import Cancel
from waypost.notifications.desk import Notifications
from waypost.notifications.opening import Opener
from waypost.notifications.read import Reader
from waypost.notifications.resend import Resend
from waypost.notifications.together import Together
from waypost.settings import Settings
from waypost.submission.accept import AcceptMail
from waypost.templates.versions import Versions
from waypost.tenants.access import Access
from waypost.tenants.accounts import Tenants
from waypost.tenants.audit import Audit
from waypost.tenants.idempotency import Idempotency
from waypost.tenants.keys import ApiKeys
from waypost.tenants.platform import verify_master_key
from waypost.tenants.sessions import Sessions

_RENDER_LINGERS_SECONDS: Final = 30.0
"""Most calls bring content that needs no child (decision 0024): it is not kept waiting for the others."""


@asynccontextmanager
async def open_app(
    settings: Settings, registry: CollectorRegistry | None = None, *, own_time: OwnTime | None = None
) -> AsyncGenerator[App]:
    """Everything the API works with. Refuses to start on a schema or a master key that does not fit."""
    master = open_master_key(settings.master_key_path, create=False)
    dsn, registry = api_url(settings, master), registry or CollectorRegistry()
    async with AsyncExitStack() as stack:
        options = PoolOptions(
            application_name="waypost api",
            max_size=settings.api_connections,
            search_path=own_time.search_path if own_time else "waypost",
        )
        pool = await open_pool(dsn, options)
        stack.push_async_callback(pool.close)
        readiness = Readiness(pool)
        await readiness.check()
        clock = own_time.clock if own_time else await stack.enter_async_context(database_clock(pool))
        bell = Bell(dsn, clock)
        stack.push_async_callback(bell.close)
        inbox_bell = inbox_bell_of(settings, dsn, clock)
        stack.push_async_callback(inbox_bell.close)
        renderer = RenderPool(clock=clock, linger_seconds=_RENDER_LINGERS_SECONDS)
        stack.push_async_callback(renderer.close)
        await renderer.warm()
        work, vault = PgWork(pool), LocalVault(master)
        keyring = PgKeyring(vault)
        tenants, api_keys = PgTenantStore(), PgApiKeyStore()
        await verify_master_key(work, tenants, vault)
        audit, vendors = Audit(PgAuditStore(), clock), vendors_of(settings, clock)
        stack.push_async_callback(vendors.close)
        access = Access(work=work, keys=api_keys, tenants=tenants, clock=clock)
        versions = Versions(store=PgVersionStore(), renderer=renderer, keyring=keyring, clock=clock)
        notifications = PgNotifications()
        delivery = PgDelivery(clock=clock, ring=bell.ring)
        opener = Opener(keyring=keyring, inputs=inputs_of(keyring, clock))
        reader = Reader(
            store=notifications,
            delivery=delivery,
            opener=opener,
            versions=versions,
            renderer=renderer,
            identity=identity_of(settings),
            tracking=tracking_log(keyring),
        )
        visits, recorder = join_visits(work=work, tenants=tenants, keyring=keyring, registry=registry, clock=clock)
        stack.push_async_callback(recorder.close)
        book = book_of(clock)
        joined = join_submit(
            versions=versions,
            renderer=renderer,
            keyring=keyring,
            delivery=delivery,
            telemetry=SubmitMetrics(registry),
            clock=clock,
            book=book,
            default_address=places_of(settings).default_address,
            objects=ObjectFolder(settings.data_dir / "objects"),
            file_limits=FileLimits(each=settings.attachment_bytes, together=settings.attachments_bytes),
        )
        submit, people = joined.submit, joined.people
        preferences = join_preferences(keyring=keyring, audit=audit, clock=clock)
        inbox = join_inbox(
            work=work,
            keyring=keyring,
            bell=inbox_bell,
            ear=inbox_ear_of(settings, dsn, clock),
            escalations=joined.escalations,
            audit=audit,
            clock=clock,
        )
        recipients = join_recipients(
            people=people,
            keyring=keyring,
            audit=audit,
            clock=clock,
            delivery=delivery,
            also_merge=[preferences.joining, join_heirs(keyring=keyring, bell=inbox_bell)],
            also_forget=[preferences.joining, inbox.feed, PgForgetTimers(clock), PgForgetFiles()],
        )
        jobs = join_jobs(work=work, keyring=keyring, audit=audit, clock=clock)
        suppressions = join_suppressions(keyring=keyring, audit=audit, clock=clock)
        idempotency = Idempotency(store=PgIdempotencyStore(), keyring=keyring, clock=clock)
        tracing = tracing_of(settings, "api")
        if tracing is not None:
            stack.callback(tracing.close)
        traced = TracedSubmit(submit, tracing.tracer) if tracing else submit
        alert_chores = await stack.enter_async_context(
            open_alert_chores(settings, work=work, keyring=keyring, submit=submit, clock=clock)
        )
        await stack.enter_async_context(watching(alert_chores, clock))
        yield App(
            settings=settings,
            tracer=tracing.tracer if tracing else None,
            clock=clock,
            work=work,
            access=access,
            sessions=Sessions(work=work, keyring=keyring, access=access, clock=clock),
            audit=audit,
            idempotency=idempotency,
            tenants=Tenants(
                store=tenants,
                audit=audit,
                vault=vault,
                access=access,
                clock=clock,
                newcomers=[everywhere_of(keyring)],
            ),
            keys=ApiKeys(store=api_keys, tenants=tenants, audit=audit, access=access, clock=clock),
            recipients=recipients.records,
            people=recipients.desk,
            jobs=jobs.jobs,
            imports=jobs.imports,
            exports=jobs.exports,
            templates=templates_of(
                renderer=renderer, keyring=keyring, recipients=recipients.records, audit=audit, clock=clock
            ),
            suppressions=suppressions,
            wishes=join_wishes(
                settings=settings,
                stores=preferences,
                submit=submit,
                suppressions=suppressions,
                delivery=delivery,
                versions=versions,
                tenants=tenants,
                work=work,
                keyring=keyring,
                audit=audit,
                clock=clock,
            ),
            notifications=Notifications(
                submit=traced,
                fan_out=joined.fan_out,
                together=Together(work=work, submit=traced, idempotency=idempotency, clock=clock),
                bulk=SubmitBulk(submit=submit, store=notifications, idempotency=idempotency, clock=clock),
                read=reader,
                cancel=Cancel(store=notifications, delivery=delivery, reader=reader),
                resend=Resend(
                    submit=traced,
                    store=notifications,
                    delivery=delivery,
                    opener=opener,
                    versions=versions,
                    blobs=Blobs(PgBlobs()),
                    keyring=keyring,
                    clock=clock,
                ),
                activity=ActivityReader(store=PgActivity(), clock=clock),
            ),
            domains=join_domains(settings, keyring=keyring, audit=audit, book=book, clock=clock),
            operations=operations_of(bell=bell, keyring=keyring, audit=audit, clock=clock),
            alerts=alerts_of(settings, keyring=keyring, audit=audit, clock=clock),
            senders=join_senders(
                settings, vendors=vendors, keyring=keyring, audit=audit, book=book, ring=bell.ring, clock=clock
            ),
            webhooks=webhooks_of(settings, keyring=keyring, audit=audit, clock=clock),
            events=join_events(
                joined=joined,
                submit=traced,
                keyring=keyring,
                versions=versions,
                audit=audit,
                telemetry=EventMetrics(registry),
                clock=clock,
            ),
            limits=LimitDesk(store=PgLimits(), audit=audit, clock=clock),
            inbox=inbox,
            submission=AcceptMail(reader=renderer, submit=traced, work=work),
            visits=visits,
            readiness=readiness,
            mailbox=Mailbox(store=PgMailboxStore(), keyring=keyring) if settings.catchall_port else None,
        )
