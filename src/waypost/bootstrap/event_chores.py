"""What a worker does to start messages: fires timers, unfolds batches, and pulls from streams where it is told to."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry

from waypost.adapters.postgres.batches import PgBatches
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.work import PgWork
from waypost.bootstrap.alerts import TELL_EVERY, WATCH_EVERY, open_alert_chores
from waypost.bootstrap.consumers import consumers_of
from waypost.bootstrap.domains import places_of
from waypost.bootstrap.event_metrics import EventMetrics
from waypost.bootstrap.events import join_firing, join_intake
from waypost.bootstrap.submit_metrics import SubmitMetrics
from waypost.bootstrap.submitting import join_submit
from waypost.campaigns.batches import Batches
from waypost.campaigns.expand import Expansion
from waypost.campaigns.ports import BatchBoard
from waypost.delivery.upkeep import Chore
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.settings import Settings
from waypost.templates.ports import Renderer
from waypost.templates.versions import Versions

_TICK: Final = 1.0
_AGAIN: Final = 5.0
"""Seconds before a stream that broke off is read again."""


@asynccontextmanager
async def open_event_chores(
    settings: Settings,
    *,
    work: PgWork,
    versions: Versions,
    renderer: Renderer,
    keyring: Keyring,
    delivery: PgDelivery,
    registry: CollectorRegistry,
    clock: Clock,
    board: BatchBoard,
) -> AsyncGenerator[list[Chore]]:
    telemetry = EventMetrics(registry)
    joined = join_submit(
        versions=versions,
        renderer=renderer,
        keyring=keyring,
        delivery=delivery,
        telemetry=SubmitMetrics(registry),
        clock=clock,
        default_address=places_of(settings).default_address,
    )
    firing = join_firing(work=work, joined=joined, delivery=delivery, keyring=keyring, telemetry=telemetry, clock=clock)
    async with AsyncExitStack() as stack:
        batches = PgBatches(clock)
        expansion = Expansion(
            work=work,
            board=board,
            store=batches,
            batches=Batches(store=batches, delivery=delivery, keyring=keyring, clock=clock),
            submit=joined.submit,
            fan_out=joined.fan_out,
            keyring=keyring,
            clock=clock,
        )
        chores = [
            Chore(name="fire_timers", every=_TICK, do=firing.tick),
            Chore(name="expand_batches", every=_TICK, do=expansion.work_off),
        ]
        alerts = await stack.enter_async_context(
            open_alert_chores(settings, work=work, keyring=keyring, submit=joined.submit, clock=clock)
        )
        chores += [
            Chore(name="watch_alerts", every=WATCH_EVERY, do=alerts.watch),
            Chore(name="tell_alerts", every=TELL_EVERY, do=alerts.tell),
        ]
        if settings.consume is not None:
            intake = join_intake(work=work, joined=joined, keyring=keyring, telemetry=telemetry, clock=clock)
            for consumer in consumers_of(settings.consume, intake, clock):
                stack.push_async_callback(consumer.close)
                chores.append(Chore(name="consume", every=_AGAIN, do=consumer.run))
        yield chores
