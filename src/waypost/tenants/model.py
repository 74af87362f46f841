"""Tenants, keys, audit entries and stored answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.ids import moment_of
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import TenantMode


class TenantStatus(StrEnum):
    ONBOARDING = "onboarding"
    """Being set up: may configure, may not send."""
    ACTIVE = "active"
    SUSPENDED = "suspended"
    """May be read, nothing else."""
    DELETING = "deleting"
    """On its way out: every call is refused, and there is no way back."""


TRANSITIONS: Final[Mapping[TenantStatus, frozenset[TenantStatus]]] = {
    TenantStatus.ONBOARDING: frozenset({TenantStatus.ACTIVE, TenantStatus.DELETING}),
    TenantStatus.ACTIVE: frozenset({TenantStatus.SUSPENDED, TenantStatus.DELETING}),
    TenantStatus.SUSPENDED: frozenset({TenantStatus.ACTIVE, TenantStatus.DELETING}),
    TenantStatus.DELETING: frozenset(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    id: str
    name: str
    mode: TenantMode
    status: TenantStatus
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """A key as it may be shown: its secret was shown once and is kept only as a hash."""

    tenant_id: str
    id: UUID
    name: str
    scopes: frozenset[Permission]
    hint: str
    """The head and the last four characters of the secret, so that people can tell keys apart."""
    created_at: datetime
    created_by: UUID | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    """Within a minute."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewApiKey:
    key: ApiKey
    secret: str

    def __repr__(self) -> str:
        return f"NewApiKey({self.key!r}, secret=…)"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyOwner:
    """What a presented secret turns out to be."""

    tenant_id: str
    key_id: UUID
    scopes: frozenset[Permission]
    expires_at: datetime | None
    revoked_at: datetime | None
    status: TenantStatus
    mode: TenantMode


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    id: UUID
    actor: str
    """The key that did it, `key_…`."""
    acting_as: str | None
    """The tenant, where a platform key acted for it."""
    action: str
    """`api_key.created`, `template.published`, …"""
    subject: str
    detail: Mapping[str, JsonValue]
    request_id: str

    @property
    def at(self) -> datetime:
        return moment_of(self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredAnswer:
    """What a call with this idempotency key was answered the first time."""

    status: int
    body: bytes

    def __repr__(self) -> str:
        return f"StoredAnswer(status={self.status}, body=…)"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptCall:
    """A call under an idempotency key as it lies in the store; `answer` is sealed."""

    route: str
    fingerprint: bytes
    status: int | None
    answer: bytes | None
    created_at: datetime
