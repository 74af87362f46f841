"""What notifications need from the system of record. Delivery's own ports are beside the delivery engine."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Scope
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, Filter, NotificationRow, Request, SubmitCommand
from waypost.recipients.model import Resolved
from waypost.recipients.resolve import Foreseen


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredNotification:
    """A notification as it lies in the store, with the words people know it by."""

    id: UUID
    retention: Retention
    request_id: UUID
    recipient_id: UUID
    external_id: str
    address_id: UUID | None
    channel: Channel
    category: Category
    topic: str | None
    priority: Priority
    version_id: UUID
    template_key: str | None
    locale: str | None
    send_at: datetime
    expires_at: datetime
    payload: bytes
    secrets: bytes | None
    """Sealed; None once it has been sent."""
    data_key: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineNote:
    notification_id: UUID
    retention: Retention
    id: UUID
    event: str
    reason: str | None
    detail: Mapping[str, object]


class Place(msgspec.Struct, frozen=True, gc=False):
    """What is sent once: the recipient of a row under this key on this channel."""

    key: str
    channel: Channel
    kept_until: datetime | None


class WantedRow(msgspec.Struct, frozen=True, gc=False):
    """A notification that is stored unless its place is taken."""

    row: NotificationRow
    place: Place | None
    due: datetime | None
    """None where it is not sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedRequest:
    """A request, and the notifications that it stands for unless their places are taken."""

    request: Request
    drafts: Sequence[UUID]


class Decided(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch of calls of which it is known who is refused. Nothing of the others is stored before `store` is called,
    once, in the same transaction; what is decided meanwhile about the next batch makes no difference to it."""

    refused: Sequence[bool]
    changed: bool = False
    """Somebody may have been made or changed: what was foreseen of the next batch is out of date."""
    store: Callable[[], Awaitable[Sequence[Accepted | Refused]]]
    """One answer for each, in order. The gate is asked first."""
    judged: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Set once `store` has heard the gate, or failed to: from then on people may change again."""


class SubmitCall(Protocol):
    """The one way in for whatever starts a message."""

    async def __call__(self, tx: Transaction, scope: Scope, command: SubmitCommand) -> Accepted:
        """Raises `Refused`."""
        ...

    async def each(self, tx: Transaction, asked: Sequence[tuple[Scope, SubmitCommand]]) -> Sequence[Accepted | Refused]:
        """Calls that know nothing of each other, stored together: each is a request of its own."""
        ...

    async def many(
        self, tx: Transaction, scope: Scope, commands: Sequence[SubmitCommand], *, part_of: UUID | None = None
    ) -> Sequence[Accepted | Refused]:
        """One answer for each, in order. What is accepted belongs to one request; what is refused leaves no trace.

        `part_of`: the request that the caller will note for all of them."""
        ...

    async def decide(
        self,
        tx: Transaction,
        scope: Scope,
        commands: Sequence[SubmitCommand],
        *,
        part_of: UUID | None = None,
        before: Decided | None = None,
        foreseen: Foreseen | None = None,
    ) -> Decided:
        """The same in two halves, for whoever has many batches: the one is stored while the next is decided.

        `before`: the batch before this one, whose storing has begun. `foreseen`: people looked up since anybody was
        `changed`."""
        ...

    async def foresee(self, tx: Transaction, commands: Sequence[SubmitCommand]) -> Foreseen:
        """Looks people up ahead of their turn: while the answer is on its way, the batch before is decided."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstStep:
    """The message on the first channel of a call that goes on until seen."""

    notification_id: UUID
    person: Resolved
    goes_out: bool
    """False where the gate stopped it: there is nothing to wait for."""
    send_at: datetime


class Escalation(Protocol):
    """Sees to the other channels of a call that goes on until seen."""

    async def begin(self, tx: Transaction, command: SubmitCommand, steps: Sequence[FirstStep]) -> None: ...


class MarketingSequences(Protocol):
    """Whoever leads people through marketing over time stops when they unsubscribe, in the same transaction."""

    async def stop_marketing(self, tx: Transaction, recipient_id: UUID, channel: Channel, topic: str | None) -> None:
        """`topic` None: everything that is marketing on the channel."""
        ...


class SubmitTelemetry(Protocol):
    """Told what was accepted, in numbers."""

    def accepted(self, accepted: Sequence[Accepted], seconds: float) -> None: ...


class NotificationStore(Protocol):
    async def add_request(self, tx: Transaction, request_id: UUID, key_id: UUID, ids: Sequence[UUID]) -> None:
        """A request and the notifications it stands for."""
        ...

    async def accept(
        self,
        tx: Transaction,
        requests: Sequence[WantedRequest],
        rows: Sequence[WantedRow],
    ) -> Mapping[UUID, UUID]:
        """Takes the places, stores and queues what is new, and notes the requests. Of the places taken before it says
        by whom: wanting → owning notification."""
        ...

    async def add_notes(self, tx: Transaction, at: datetime, notes: Sequence[TimelineNote]) -> None: ...

    async def request(self, tx: Transaction, request_id: UUID) -> Sequence[UUID] | None: ...

    async def resend_of(self, tx: Transaction, notification_id: UUID) -> UUID | None:
        """Which notification was sent again by this one."""
        ...

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, StoredNotification]: ...

    async def page(self, tx: Transaction, wanted: Filter, before: UUID | None, limit: int) -> Sequence[UUID]:
        """Ids, newest first."""
        ...
