"""Webhook endpoints, what is delivered to them, and what they answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from waypost.kernel.ids import moment_of
from waypost.outbox.model import Told


class EndpointStatus(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    BY_HAND = "by_hand"
    GONE = "gone"
    """It answered 410."""
    FAILING = "failing"
    """Nothing has got through for three days."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    id: UUID
    url: str
    events: tuple[str, ...]
    description: str
    status: EndpointStatus
    disabled_reason: DisabledReason | None
    disabled_at: datetime | None
    failing_since: datetime | None
    """When it last began to fail and has not recovered since."""
    old_secret_until: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime

    def __repr__(self) -> str:
        return f"Endpoint({self.id}, {self.status.value})"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredEndpoint:
    """An endpoint as it lies in the store: its address and secrets are sealed under the tenant's key."""

    id: UUID
    url: bytes
    secret: bytes
    old_secret: bytes | None
    old_secret_until: datetime | None
    events: tuple[str, ...]
    description: str
    status: EndpointStatus
    disabled_reason: DisabledReason | None
    disabled_at: datetime | None
    failing_since: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEndpoint:
    endpoint: Endpoint
    secret: str

    def __repr__(self) -> str:
        return f"NewEndpoint({self.endpoint!r}, secret=…)"


class CallFault(StrEnum):
    """Why there is no answer."""

    PRIVATE_ADDRESS = "private_address"
    REFUSED_URL = "refused_url"
    """Not one that may be called any more: plain HTTP, or an odd port."""
    UNRESOLVABLE = "unresolvable"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    BROKEN = "broken"
    """The connection broke, or what came back was not HTTP."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int | None
    fault: CallFault | None
    retry_after: str | None = None
    body: bytes = b""
    latency_ms: int = 0
    sent: bool = True
    """Whether the whole request may have reached the peer."""


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One event for one endpoint."""

    id: UUID
    endpoint_id: UUID
    told: Told
    state: DeliveryState
    attempts: int
    due: datetime
    give_up_at: datetime

    @property
    def created_at(self) -> datetime:
        return moment_of(self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One call to an endpoint, as it is shown."""

    n: int
    at: datetime
    status: int | None
    fault: str | None
    latency_ms: int
    answer: str
    """The head of what it said: cut, cleaned, addresses masked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryLog:
    delivery: Delivery
    attempts: Sequence[Attempt]


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """Events of a time, told again to one endpoint. Expanded in the background, a bounded step at a time."""

    id: UUID
    endpoint_id: UUID
    since: datetime
    until: datetime
    position: int
    added: int
    done: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """How an endpoint is doing: what decides when and how much it is sent."""

    pace: int
    """How many deliveries one turn takes."""
    failures: int
    """Since the last success."""
    not_before: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A claim on one of an endpoint's two places: so many deliveries, to be made before the lease ends."""

    endpoint: StoredEndpoint
    lane: Lane
    deliveries: Sequence[Delivery]
    place: int
    lease_until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How one delivery of a turn went."""

    delivery: Delivery
    at: datetime
    answer: Answer
    shown: str
    state: DeliveryState
    due: datetime
