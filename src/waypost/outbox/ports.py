"""How news gets into the outbox and out of it, and what the relay needs from the world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.outbox.model import News, Told
from waypost.outbox.webhook_model import (
    Answer,
    CallFault,
    Delivery,
    DeliveryLog,
    DisabledReason,
    EndpointStatus,
    Lane,
    Replay,
    Result,
    StoredEndpoint,
    Turn,
)


class Outbox(Protocol):
    async def append(self, tx: Transaction, news: Sequence[News]) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """Batches of news that one reader has not been told yet."""

    batches: Sequence[int]
    news: Sequence[Told]
    """In the order in which it happened, subject by subject."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """An event that a publisher would not take, or that waits behind one."""

    told: Told
    tries: int
    since: datetime
    """When it first failed, or began to wait."""
    due: datetime


class UnreadStore(Protocol):
    """The outbox as its readers see it: by what they have not read yet, never by a position."""

    async def waiting(self, tx: Transaction, reader: int, now: datetime, after: str) -> Sequence[str]:
        """Tenants with something unread, from the one after this on, then round. Looks across tenants."""
        ...

    async def take(self, tx: Transaction, reader: int, at_most: int) -> Unread:
        """Some of what is unread, which nobody else is reading; read when the transaction commits."""
        ...

    async def take_in_order(self, tx: Transaction, reader: int, at_most: int) -> Unread | None:
        """The oldest of what is unread, for as long as nobody else reads this tenant's; None where somebody does."""
        ...

    async def finish(self, tx: Transaction, reader: int, batches: Sequence[int]) -> None: ...

    async def held(
        self, tx: Transaction, reader: int, subjects: Sequence[UUID] | None, now: datetime
    ) -> Sequence[Held]:
        """What is held about these subjects, or all about subjects of which something is due."""
        ...

    async def hold(self, tx: Transaction, reader: int, held: Sequence[Held]) -> None:
        """Adds them, or notes how they stand now."""
        ...

    async def let_go(self, tx: Transaction, reader: int, told: Sequence[Told]) -> None: ...

    async def between(self, tx: Transaction, position: int, at_most: int) -> Sequence[Told]:
        """Rows of the outbox from a place on, as they lie there."""
        ...

    async def register(self, tx: Transaction, reader: int, name: str, now: datetime) -> None:
        """From now on everything is marked as unread for this publisher too."""
        ...

    async def forget_silent(self, tx: Transaction, before: datetime) -> Sequence[str]:
        """Publishers that nobody has run since: nothing is kept for them any more."""
        ...


class EndpointStore(Protocol):
    async def add(self, tx: Transaction, endpoint: StoredEndpoint) -> None: ...

    async def find(self, tx: Transaction, endpoint_id: UUID, *, for_change: bool = False) -> StoredEndpoint | None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredEndpoint]:
        """Newest first."""
        ...

    async def count(self, tx: Transaction) -> int:
        """Counted while nobody else adds one."""
        ...

    async def change(self, tx: Transaction, endpoint: StoredEndpoint) -> None: ...

    async def remove(self, tx: Transaction, endpoint_id: UUID) -> None:
        """With all that was to be delivered to it."""
        ...

    async def enabled(self, tx: Transaction) -> Sequence[tuple[UUID, tuple[str, ...]]]:
        """Whom to tell, and what they listen to."""
        ...

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, StoredEndpoint]: ...


class DeliveryStore(Protocol):
    async def add(self, tx: Transaction, deliveries: Sequence[Delivery], now: datetime) -> None:
        """Their endpoints' lanes are woken."""
        ...

    async def find(self, tx: Transaction, endpoint_id: UUID, delivery_id: UUID) -> Delivery | None: ...

    async def page(
        self, tx: Transaction, endpoint_id: UUID, state: str | None, before: UUID | None, limit: int
    ) -> Sequence[DeliveryLog]:
        """Newest first."""
        ...

    async def try_again(self, tx: Transaction, endpoint_id: UUID, delivery_id: UUID, now: datetime) -> None: ...

    async def wake(self, tx: Transaction, endpoint_id: UUID, now: datetime) -> None:
        """A lane that starts afresh: at full pace, with everything that waits."""
        ...

    async def due_lanes(self, tx: Transaction, now: datetime, at_most: int) -> Sequence[tuple[str, UUID]]:
        """Endpoints that have something due and a free place. Looks across tenants."""
        ...

    async def take_turn(self, tx: Transaction, endpoint_id: UUID, now: datetime, lease_until: datetime) -> Turn | None:
        """None where there is nothing to do after all."""
        ...

    async def end_turn(
        self, tx: Transaction, turn: Turn, results: Sequence[Result], back: Sequence[Delivery], lane: Lane
    ) -> None:
        """Writes how it went, gives back what was not begun, and frees the place."""
        ...

    async def note_health(
        self,
        tx: Transaction,
        endpoint_id: UUID,
        *,
        failing_since: datetime | None,
        status: EndpointStatus,
        reason: DisabledReason | None,
        at: datetime,
    ) -> bool:
        """False where it was disabled or removed meanwhile."""
        ...

    async def add_replay(self, tx: Transaction, replay: Replay) -> None: ...

    async def replays(self, tx: Transaction, endpoint_id: UUID, before: UUID | None, limit: int) -> Sequence[Replay]:
        """Newest first."""
        ...

    async def open_replays(self, tx: Transaction, at_most: int) -> Sequence[str]:
        """Tenants with one to go on with. Looks across tenants."""
        ...

    async def next_replay(self, tx: Transaction) -> Replay | None:
        """The oldest of the tenant that nobody else is at, locked."""
        ...

    async def advance(self, tx: Transaction, replay: Replay) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationFacts:
    """What the record of a notification says, its inputs sealed."""

    id: UUID
    request_id: UUID
    recipient_id: UUID
    external_id: str
    channel: Channel
    category: Category
    reason: str | None
    send_at: datetime
    expires_at: datetime
    payload: bytes
    data_key: bytes | None


class MetadataBook(Protocol):
    """Opens what callers noted on their messages: it lies sealed in the inputs."""

    async def of(self, tx: Transaction, records: Sequence[NotificationFacts]) -> Mapping[UUID, dict[str, JsonValue]]:
        """By notification; empty where the recipient was erased."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SuppressionFacts:
    id: UUID
    channel: Channel
    reason: str
    source: str
    notification_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    released_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountFacts:
    """Of a sender account."""

    id: UUID
    name: str
    status: str
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DomainFacts:
    id: UUID
    name: str
    failed: tuple[str, ...]
    failing_since: datetime | None


class SubjectStore(Protocol):
    """The records that news is about, read in sets."""

    async def notifications(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, NotificationFacts]: ...

    async def attempt_reasons(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[tuple[UUID, int], str | None]: ...

    async def link_targets(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[tuple[UUID, int], tuple[UUID, bytes]]:
        """Where links of notifications lead, as far as that is kept: what is sealed, and the event that it is sealed
        for (`tracking_target`)."""
        ...

    async def suppressions(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, SuppressionFacts]: ...

    async def domains(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, DomainFacts]: ...

    async def sender_accounts(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, AccountFacts]: ...


class UrlFault(Exception):
    """Why an address cannot be an endpoint's."""

    def __init__(self, code: str, message: str, as_call_fault: CallFault = CallFault.REFUSED_URL) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.as_call_fault = as_call_fault


class UrlCheck(Protocol):
    async def check(self, url: str) -> None:
        """Raises `UrlFault`. Asked when an endpoint is configured, and again before every call."""
        ...


class Caller(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer: ...


class PublisherDown(Exception):
    """The broker cannot be reached or takes nothing at all: everything waits, in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """A CloudEvent on its way to a broker."""

    id: str
    key: str
    """Events of one key are kept in order."""
    tenant_id: str
    type: str
    body: bytes


class Publisher(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def reader(self) -> int: ...

    async def publish(self, events: Sequence[Outgoing]) -> Sequence[bool]:
        """In order; says of each whether the broker has kept it. Raises `PublisherDown`."""
        ...

    async def close(self) -> None: ...


class RelayTelemetry(Protocol):
    def called(self, answers: Sequence[Answer]) -> None: ...

    def published(self, publisher: str, events: int, refused: int) -> None: ...

    def expanded(self, deliveries: int) -> None: ...

    def behind(self, waiting: Mapping[str, tuple[int, float]]) -> None:
        """By `webhooks`, `nats`, `redis` and `calls`: how much waits, and for how many seconds the oldest has."""
        ...
