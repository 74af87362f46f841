"""One message to many people, made in the system of record instead of one by one.

The gate is asked once for each kind of person: people of whom it would be told the same. The store writes to those of
the kinds it lets through, and hands back all others: of a kind that nobody has asked about yet, or of none because
something speaks against writing to them. They go the way of every call (`submit`), which is right for everybody; a kind
that was handed back is known from then on. What is written here is what that way would have written, only that its
inputs lie there by reference (`inputs`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import msgspec
from msgspec.structs import replace

from waypost.delivery.gate import ALLOWED, Allow, GateFacts
from waypost.delivery.model import State
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention, retention_of
from waypost.kernel.work import Transaction
from waypost.notifications.choose import ContentChooser
from waypost.notifications.drafts import Leg
from waypost.notifications.inputs import InputsBook, SharedInputs, can_be_shared
from waypost.notifications.intent import Intent, going
from waypost.notifications.model import Once, Request, Routing, SubmitCommand
from waypost.notifications.own_names import OwnNames
from waypost.notifications.rules import Timing, check_command
from waypost.recipients.model import Target
from waypost.templates.rules import wording_for

MOST_KINDS: Final = 500
_SOMEBODY: Final = (Target(id="somebody"),)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """People of whom the gate and the content would be told the same."""

    locale: str | None
    facts: GateFacts


@dataclass(slots=True)
class Kinds:
    """What one worker has learnt about the people of one audience."""

    house: str = ""
    """What the tenant has decided; when that changes, everything is learnt anew."""
    known: dict[str, Kind] = field(default_factory=dict[str, Kind])

    def learn(self, house: str, found: Mapping[str, Kind]) -> None:
        if house != self.house:
            self.house, self.known = house, {}
        for name, kind in found.items():
            if len(self.known) < MOST_KINDS:
                self.known[name] = kind


class WrittenTo(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that may be written to: in which words, and from which shared inputs."""

    kind: str
    locale: str | None
    inputs: UUID


class ManyMessages(msgspec.Struct, frozen=True, kw_only=True):
    """What all of them have in common."""

    request: Request
    once: Once
    stem: bytes
    """Of their ids: 12 bytes that nobody else has."""
    channel: Channel
    category: Category
    topic: str | None
    priority: Priority
    retention: Retention
    gate: int
    version_id: UUID
    timing: Timing


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Those who were not written to, by the caller's own ids, and the kinds that are among them."""

    external_ids: Sequence[str]
    house: str = ""
    kinds: Mapping[str, Kind] = {}


class FanOutStore(Protocol):
    async def fan_out(
        self,
        tx: Transaction,
        people: Sequence[UUID],
        messages: ManyMessages,
        house: str,
        kinds: Sequence[WrittenTo],
    ) -> Left:
        """Writes and queues one message for everybody of these kinds, unless they have theirs. `people` are sorted."""
        ...


class FanOutTelemetry(Protocol):
    def fanned_out(self, channel: Channel, status: State, count: int, seconds: float) -> None: ...


class FanOut:
    def __init__(
        self,
        *,
        own_names: OwnNames,
        contents: ContentChooser,
        inputs: InputsBook,
        store: FanOutStore,
        delivery: DeliveryStore,
        telemetry: FanOutTelemetry,
        clock: Clock,
    ) -> None:
        self._own_names = own_names
        self._contents = contents
        self._inputs = inputs
        self._store = store
        self._delivery = delivery
        self._telemetry = telemetry
        self._clock = clock

    async def __call__(
        self, tx: Transaction, scope: Scope, command: SubmitCommand, people: Sequence[UUID], kinds: Kinds
    ) -> Sequence[str] | None:
        """Writes to those of `people` (sorted) of whose kind it is known that they may be written to; learns the kinds
        of the others, and returns their own ids. None where nobody can be written to in this way: the message is of
        another form, or must be refused. `command.to` does not count."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        begun, now = self._clock.monotonic(), self._clock.now()
        request = Request(id=mint(self._clock), asker=scope.key_id)
        leg = await self._leg(tx, Intent(replace(command, to=_SOMEBODY), request), now)
        if leg is None or command.once is None:
            return None
        messages = ManyMessages(
            request=request,
            once=command.once,
            stem=mint(self._clock).bytes[:12],
            channel=leg.channel,
            category=leg.chosen.category,
            topic=leg.chosen.topic,
            priority=leg.priority,
            retention=retention_of(leg.chosen.category),
            gate=ALLOWED,
            version_id=leg.chosen.version.id,
            timing=leg.timing,
        )
        allowed = await self._allowed(tx, command, leg, kinds, now)
        left = await self._store.fan_out(tx, people, messages, kinds.house, allowed)
        kinds.learn(left.house, left.kinds)
        if (made := len(people) - len(left.external_ids)) > 0:
            self._delivery.wake_workers(tx)
            status = State.SCHEDULED if leg.timing.send_at > now else State.QUEUED
            self._telemetry.fanned_out(leg.channel, status, made, self._clock.monotonic() - begun)
        return left.external_ids

    async def _leg(self, tx: Transaction, intent: Intent, now: datetime) -> Leg | None:
        if not _is_plain(intent.command):
            return None
        try:
            check_command(intent.command, now)
        except Refused:
            return None
        await self._own_names.check(tx, [intent])
        await self._contents.choose(tx, going([intent]), now)
        if intent.answer is not None:
            return None
        return intent.legs[0] if not intent.legs[0].chosen.secret_names else None

    async def _allowed(
        self, tx: Transaction, command: SubmitCommand, leg: Leg, kinds: Kinds, now: datetime
    ) -> Sequence[WrittenTo]:
        """Those of the known kinds that the gate lets through now, and whose words can be shared."""
        version = leg.chosen.version
        told: list[tuple[str, str | None, SharedInputs]] = []
        for name, kind in kinds.known.items():
            locale, wording = wording_for(version, kind.locale)
            if not can_be_shared(wording.mentioned) or not isinstance(leg.judge(kind.facts, now), Allow):
                continue
            inputs = SharedInputs(
                mentioned=wording.mentioned,
                variables=dict(command.variables),
                tenant={"id": tx.tenant_id, "name": version.house.name} if version.house else None,
                sender=command.sender,
                reply_to=command.reply_to,
                headers=command.headers,
                metadata=dict(command.metadata),
                tracks=leg.tracks(command.tracking, wording, kind.facts),
            )
            told.append((name, locale, inputs))
        ids = await self._inputs.keep(tx, [inputs for _, _, inputs in told])
        return [
            WrittenTo(kind=name, locale=locale, inputs=inputs_id)
            for (name, locale, _), inputs_id in zip(told, ids, strict=True)
        ]


def _is_plain(command: SubmitCommand) -> bool:
    """One email for each, made of nothing but a template or content, variables and headers."""
    return (
        command.channels == (Channel.EMAIL,)
        and command.routing is not Routing.UNTIL_SEEN
        and command.once is not None
        and command.once.kept_for is None
        and command.withheld is None
        and command.actor is None
        and not (command.cc or command.bcc or command.attachments or command.hidden)
    )
