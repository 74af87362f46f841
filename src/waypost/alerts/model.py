"""Alerts: something that a person should look at. Each opens once, is repeated now and then, and closes itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.jsontypes import JsonValue


class AlertKind(StrEnum):
    """The closed list of what alerts are about."""

    ACCOUNT_PAUSED = "account_paused"
    """A sender account was stopped by its own numbers."""
    ACCOUNT_SUSPENDED = "account_suspended"
    """A sender account was refused by its server."""
    DOMAIN_LOST = "domain_lost"
    """A domain that was verified is not any more."""
    QUEUE_STALLED = "queue_stalled"
    """Something has been due for too long."""
    IN_DOUBT_GROWING = "in_doubt_growing"
    DEAD_LETTERS_GROWING = "dead_letters_growing"


class TellingKind(StrEnum):
    """What a target is told about an alert."""

    OPENED = "opened"
    REPEATED = "repeated"
    CLOSED = "closed"
    TEST = "test"


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    id: UUID
    kind: AlertKind
    subject: str
    """What it is about: the id of an account, a domain, a channel. Never an address."""
    facts: Mapping[str, JsonValue]
    opened_at: datetime
    seen_at: datetime
    """When it was last found to be so."""
    told: int
    """How often targets were told."""
    closed_at: datetime | None

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


class TargetKind(StrEnum):
    EMAIL = "email"
    WEBHOOK = "webhook"


class TargetStatus(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTarget:
    """As it lies in the store: where it leads, and its secret, are sealed under the tenant's key."""

    id: UUID
    kind: TargetKind
    target: bytes = field(repr=False)
    secret: bytes | None = field(repr=False)
    kinds: tuple[AlertKind, ...]
    """Empty: all."""
    description: str
    status: TargetStatus
    last_told_at: datetime | None
    last_fault: str | None
    version: int
    created_at: datetime
    updated_at: datetime

    def hears(self, kind: AlertKind) -> bool:
        return self.status is TargetStatus.ENABLED and (not self.kinds or kind in self.kinds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """As its owner sees it: an email address is shown masked."""

    id: UUID
    kind: TargetKind
    shown: str
    kinds: tuple[AlertKind, ...]
    description: str
    status: TargetStatus
    last_told_at: datetime | None
    last_fault: str | None
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class NewTarget:
    target: Target
    secret: str | None = field(repr=False)
    """Of a webhook, shown once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """One target is to be told one thing."""

    alert_id: UUID
    target_id: UUID
    n: int
    kind: TellingKind
    attempts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StalledLane:
    """A channel of a tenant whose oldest row has been due since long."""

    tenant_id: str
    channel: int
    oldest_due: datetime


class Trouble(StrEnum):
    """What is counted while messages end badly."""

    IN_DOUBT = "in_doubt"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, kw_only=True, slots=True)
class TroubleCount:
    tenant_id: str
    trouble: Trouble
    count: int


KIND_OF_TROUBLE: Final = {
    Trouble.IN_DOUBT: AlertKind.IN_DOUBT_GROWING,
    Trouble.DEAD_LETTER: AlertKind.DEAD_LETTERS_GROWING,
}
