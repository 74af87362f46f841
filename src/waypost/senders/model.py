"""Sender accounts: what is configured, what is counted, and how both read together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum, StrEnum
from uuid import UUID

from waypost.kernel.vocabulary import Category
from waypost.senders.connection import AccountConnection, AccountKind


class AccountStatus(StrEnum):
    """What is stored. Warming up and having reached the limit are derived, so that a pause forgets neither."""

    ACTIVE = "active"
    PAUSED = "paused"
    """By hand, or because a threshold was crossed: somebody must look, then resume it."""
    SUSPENDED = "suspended"
    """The server does not let us in any more."""
    ARCHIVED = "archived"
    """Removed; kept because attempts name it."""


class ShownStatus(StrEnum):
    ACTIVE = "active"
    WARMING_UP = "warming_up"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    ARCHIVED = "archived"


class StatusReason(StrEnum):
    BY_HAND = "by_hand"
    BOUNCE_RATE = "bounce_rate"
    ERROR_RATE = "error_rate"
    ERRORS_IN_A_ROW = "errors_in_a_row"
    AUTHENTICATION = "authentication"


class Tally(IntEnum):
    """What a settlement means for the account that was to send it. Known to `settle_capacity` in the database."""

    SENT = 1
    BOUNCED = 2
    REFUSED = 3
    IN_DOUBT = 4
    DEFERRED = 5
    AWAY = 6
    UNUSED = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One step of a warm-up."""

    limit: int
    """Messages a day."""
    delay_ms: int = 0
    batch_size: int = 50
    days: int = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class WarmUp:
    schedule: tuple[Stage, ...]
    stage: int | None
    """From 1; None once it is finished."""
    started_on: tuple[date, ...]
    """When each stage so far began."""
    finished_on: date | None = None

    @property
    def current(self) -> Stage | None:
        return None if self.stage is None else self.schedule[self.stage - 1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    id: UUID
    name: str
    display_name: str
    from_address: str
    categories: frozenset[Category] | None
    """None: any."""
    daily_limit: int | None
    """None: none of its own."""
    batch_size: int
    delay_ms: int
    provider_limits: Mapping[str, int]
    """Messages an hour, by mailbox provider."""
    adaptive: bool
    connection: AccountConnection
    """Its secret is empty except where it is about to be used."""
    secret: bytes | None = field(repr=False)
    """Sealed."""
    secret_is_reference: bool
    status: AccountStatus
    status_reason: StatusReason | None
    status_at: datetime
    warmup: WarmUp | None
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def kind(self) -> AccountKind:
        return self.connection.kind

    @property
    def domain(self) -> str:
        return self.from_address.rpartition("@")[2]

    @property
    def shown_status(self) -> ShownStatus:
        if self.status is AccountStatus.ACTIVE and self.warmup is not None and self.warmup.stage is not None:
            return ShownStatus.WARMING_UP
        return ShownStatus(self.status.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """What was counted on one day, in UTC."""

    day: date
    reserved: int = 0
    """Taken of the limit: sent, and on its way."""
    sent: int = 0
    bounced: int = 0
    errors: int = 0
    deferred: int = 0

    @property
    def is_new(self) -> bool:
        """Nothing has been counted yet."""
        return not (self.reserved or self.answered or self.deferred)

    @property
    def answered(self) -> int:
        """What the rates of bounces and errors are of."""
        return self.sent + self.bounced + self.errors


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How fast an account writes to one mailbox provider."""

    provider: str
    hour: datetime
    """The clock hour that `taken` counts."""
    taken: int = 0
    taken_before: int = 0
    """In the hour before."""
    rate: float | None = None
    """Messages an hour; None: as many as there are."""
    ceiling: float | None = None
    """The rate at which the provider last asked us to slow down."""
    next_at: datetime | None = None
    """When the next message fits the rate."""
    plan_at: datetime | None = None
    """Up to when those that wait have been given a time."""
    slowed_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountState:
    """What changes with every batch."""

    next_at: datetime | None = None
    plan_at: datetime | None = None
    plan_day: date | None = None
    planned: int = 0
    consecutive_errors: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """An account with its counts, at one moment."""

    account: Account
    state: AccountState
    today: Day
    paces: tuple[Pace, ...] = ()
