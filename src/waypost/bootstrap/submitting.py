"""The one way in for messages, joined to its stores: the API's, and the worker's for what falls due there."""

from dataclasses import dataclass
from typing import Protocol

from waypost.adapters.postgres.blobs import PgBlobs
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.domains import PgDomains
from waypost.adapters.postgres.escalations import PgEscalationStore
from waypost.adapters.postgres.fan_out import PgFanOut
from waypost.adapters.postgres.lists import PgListStore
from waypost.adapters.postgres.notifications import PgNotifications
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.preferences import PgTopics
from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore
from waypost.adapters.postgres.timers import PgTimerStore
from waypost.bootstrap.inputs import inputs_of
from waypost.domains.standing import DomainBook
from waypost.kernel.attachments import FileLimits
from waypost.kernel.blobs import Blobs, ObjectStore
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.notifications.attaching import Attacher
from waypost.notifications.choose import ContentChooser
from waypost.notifications.fan_out import FanOut, FanOutTelemetry
from waypost.notifications.keep import Keeper
from waypost.notifications.own_names import OwnNames
from waypost.notifications.ports import SubmitTelemetry
from waypost.notifications.render_check import RenderCheck
from waypost.notifications.submit import Submit
from waypost.recipients.lists import ListKeys
from waypost.recipients.people import People
from waypost.recipients.resolve import Resolver
from waypost.templates.ports import Renderer
from waypost.templates.versions import Versions
from waypost.triggers.escalate import Escalations


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinedSubmit:
    submit: Submit
    fan_out: FanOut
    people: People
    resolver: Resolver
    escalations: Escalations


class Telemetry(SubmitTelemetry, FanOutTelemetry, Protocol):
    """Told of both ways in which messages are made."""


class NoObjects:
    """Where nothing that is sent refers to objects. Implements `kernel.blobs.ObjectStore`."""

    async def read(self, tenant_id: str, key: str, most_bytes: int) -> bytes | None:
        return None


def join_submit(
    *,
    versions: Versions,
    renderer: Renderer,
    keyring: Keyring,
    delivery: PgDelivery,
    telemetry: Telemetry,
    clock: Clock,
    book: DomainBook | None = None,
    default_address: str = "",
    objects: ObjectStore | None = None,
    file_limits: FileLimits | None = None,
) -> JoinedSubmit:
    notifications, recipients, addresses = PgNotifications(), PgRecipientStore(), PgAddressStore()
    people = People(recipients=recipients, addresses=addresses, keyring=keyring, clock=clock)
    resolver = Resolver(people=people, recipients=recipients, addresses=addresses, keyring=keyring, clock=clock)
    escalations = Escalations(
        timers=PgTimerStore(),
        store=PgEscalationStore(),
        notifications=notifications,
        delivery=delivery,
        clock=clock,
    )
    own_names = OwnNames(book or DomainBook(PgDomains(), clock), default_address)
    contents = ContentChooser(versions=versions, renderer=renderer, topics=PgTopics())
    submit = Submit(
        own_names=own_names,
        contents=contents,
        attacher=Attacher(
            blobs=Blobs(PgBlobs()),
            objects=objects or NoObjects(),
            keyring=keyring,
            limits=file_limits or FileLimits(),
        ),
        resolver=resolver,
        lists=ListKeys(PgListStore()),
        rendering=RenderCheck(renderer),
        delivery=delivery,
        keeper=Keeper(store=notifications, delivery=delivery, outbox=PgOutbox(), clock=clock),
        escalation=escalations,
        telemetry=telemetry,
        clock=clock,
    )
    fan_out = FanOut(
        own_names=own_names,
        contents=contents,
        inputs=inputs_of(keyring, clock),
        store=PgFanOut(),
        delivery=delivery,
        telemetry=telemetry,
        clock=clock,
    )
    return JoinedSubmit(submit=submit, fan_out=fan_out, people=people, resolver=resolver, escalations=escalations)
