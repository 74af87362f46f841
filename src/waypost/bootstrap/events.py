"""Events, triggers and timers, joined to their stores."""

import random

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.digests import PgDigestStore
from waypost.adapters.postgres.escalations import PgEscalationStore
from waypost.adapters.postgres.events import PgEventStore, PgFailureStore
from waypost.adapters.postgres.tenants import PgTenantStore
from waypost.adapters.postgres.throttles import PgThrottleStore
from waypost.adapters.postgres.timers import PgDueTenants, PgTimerStore
from waypost.adapters.postgres.triggers import PgAudience, PgTriggerStore, PgZones
from waypost.adapters.postgres.work import PgWork
from waypost.bootstrap.submitting import JoinedSubmit
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.notifications.ports import SubmitCall
from waypost.templates.versions import Versions
from waypost.tenants.audit import Audit
from waypost.triggers.binding import Binding
from waypost.triggers.collecting import Collecting
from waypost.triggers.desk import EventDesk
from waypost.triggers.fire import Firing
from waypost.triggers.intake import DeadEvents, Intake
from waypost.triggers.later import Later
from waypost.triggers.manage import Triggers
from waypost.triggers.now import SendNow
from waypost.triggers.ports import TriggerTelemetry
from waypost.triggers.replan import Replanner
from waypost.triggers.submit_due import SubmitDue
from waypost.triggers.take import Events
from waypost.triggers.timers import Timers


def join_events(
    *,
    joined: JoinedSubmit,
    submit: SubmitCall,
    keyring: Keyring,
    versions: Versions,
    audit: Audit,
    telemetry: TriggerTelemetry,
    clock: Clock,
) -> EventDesk:
    events = _events(joined, submit, keyring, telemetry, clock)
    return EventDesk(
        events=events,
        triggers=Triggers(store=PgTriggerStore(), versions=versions, audit=audit, clock=clock),
        timers=Timers(store=PgTimerStore(), clock=clock),
        escalations=joined.escalations,
        dead=DeadEvents(events=events, failures=PgFailureStore(), keyring=keyring),
    )


def join_firing(
    *,
    work: PgWork,
    joined: JoinedSubmit,
    delivery: PgDelivery,
    keyring: Keyring,
    telemetry: TriggerTelemetry,
    clock: Clock,
) -> Firing:
    timers, replanner = PgTimerStore(), _replanner(keyring, clock)
    submit_due = SubmitDue(
        submit=joined.submit,
        bind=Binding(triggers=PgTriggerStore(), audience=PgAudience(), digests=PgDigestStore(), replanner=replanner),
        digests=PgDigestStore(),
        collecting=Collecting(digests=PgDigestStore(), clock=clock),
        throttles=PgThrottleStore(),
        escalations=PgEscalationStore(),
        delivery=delivery,
        replanner=replanner,
        clock=clock,
    )
    return Firing(
        work=work,
        tenants=PgDueTenants(work),
        timers=timers,
        submit_due=submit_due,
        telemetry=telemetry,
        clock=clock,
        random=random.random,
    )


def join_intake(
    *, work: PgWork, joined: JoinedSubmit, keyring: Keyring, telemetry: TriggerTelemetry, clock: Clock
) -> Intake:
    return Intake(
        work=work,
        events=_events(joined, joined.submit, keyring, telemetry, clock),
        tenants=PgTenantStore(),
        failures=PgFailureStore(),
        keyring=keyring,
        telemetry=telemetry,
        clock=clock,
    )


def _events(
    joined: JoinedSubmit, submit: SubmitCall, keyring: Keyring, telemetry: TriggerTelemetry, clock: Clock
) -> Events:
    later = Later(
        events=PgEventStore(),
        timers=PgTimerStore(),
        collecting=Collecting(digests=PgDigestStore(), clock=clock),
        replanner=_replanner(keyring, clock),
        keyring=keyring,
        clock=clock,
    )
    return Events(
        store=PgEventStore(),
        triggers=PgTriggerStore(),
        audience=PgAudience(),
        resolver=joined.resolver,
        now=SendNow(submit=submit, throttles=PgThrottleStore()),
        later=later,
        telemetry=telemetry,
        clock=clock,
    )


def _replanner(keyring: Keyring, clock: Clock) -> Replanner:
    return Replanner(
        events=PgEventStore(),
        timers=PgTimerStore(),
        triggers=PgTriggerStore(),
        zones=PgZones(),
        keyring=keyring,
        clock=clock,
    )
