"""A tenant's domain, the keys that sign for it, and what the last look at its DNS records found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.vocabulary import TenantMode


class Purpose(StrEnum):
    FROM = "from"
    """Stands in `From`; messages are signed for it."""
    TRACKING = "tracking"
    """Links and pixels lead there."""
    RETURN_PATH = "return_path"
    """Bounces come back there."""


class DomainState(StrEnum):
    PENDING = "pending"
    """Never proved yet."""
    VERIFIED = "verified"
    FAILING = "failing"
    """Was proved, and its records have been wrong since; for three days it may still be used."""
    FAILED = "failed"


TRANSITIONS: Final[Mapping[DomainState, frozenset[DomainState]]] = {
    DomainState.PENDING: frozenset({DomainState.VERIFIED}),
    DomainState.VERIFIED: frozenset({DomainState.FAILING}),
    DomainState.FAILING: frozenset({DomainState.VERIFIED, DomainState.FAILED}),
    DomainState.FAILED: frozenset({DomainState.VERIFIED}),
}
HELD: Final = frozenset({DomainState.VERIFIED, DomainState.FAILING})
"""In these states a domain may be used, and belongs to nobody else."""


class CheckName(StrEnum):
    OWNERSHIP = "ownership"
    DKIM = "dkim"
    SPF = "spf"
    DMARC = "dmarc"
    RETURN_PATH = "return_path"
    TRACKING = "tracking"
    EXCLUSIVE = "exclusive"
    """Whether nobody else in this installation holds it."""


class CheckResult(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The name servers did not say. That is nobody's proof of anything: what was believed before still holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    name: CheckName
    result: CheckResult
    required: bool
    said: str
    """What was found, in a sentence of ours."""


class Algorithm(StrEnum):
    RSA = "rsa"
    """2048 bits."""
    ED25519 = "ed25519"


class KeyState(StrEnum):
    NEXT = "next"
    """Made, and not seen in DNS yet: signs nothing."""
    ACTIVE = "active"
    RETIRED = "retired"
    """Signs nothing any more; its record must stay until mail that it signed has arrived."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DkimKey:
    id: UUID
    algorithm: Algorithm
    selector: str
    public_key: str
    """As its record has it after `p=`."""
    private_key: bytes = field(repr=False)
    """Sealed under the tenant's key."""
    state: KeyState
    found: bool | None
    """Whether its record was there when last looked for; None before that."""
    created_at: datetime
    active_at: datetime | None = None
    retired_until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    id: UUID
    name: str
    """In lower-case ASCII, as DNS has it."""
    purposes: frozenset[Purpose]
    state: DomainState
    proof: str
    """What the ownership record must say. It is public: only who writes the zone can put it there."""
    keys: tuple[DkimKey, ...]
    checks: tuple[Check, ...]
    failures: int
    """Checks in a row that have failed, since it was last in order."""
    overlap_days: int
    """How long the record of a key must stay after the key has been replaced."""
    checked_at: datetime | None
    verified_at: datetime | None
    failing_since: datetime | None
    next_check_at: datetime
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def is_held(self) -> bool:
        return self.state in HELD


class RecordType(StrEnum):
    TXT = "TXT"
    CNAME = "CNAME"


@dataclass(frozen=True, kw_only=True, slots=True)
class DnsRecord:
    """A record that whoever keeps the zone has to set."""

    type: RecordType
    name: str
    value: str
    purpose: str
    """What it is for, in a sentence."""
    check: CheckName
    required: bool
    found: bool | None
    """None: not looked for yet, or the name servers did not say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SigningKey:
    """An active key, as the signer gets it."""

    id: UUID
    algorithm: Algorithm
    selector: str
    private_key: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldDomain:
    name: str
    purposes: frozenset[Purpose]
    keys: tuple[SigningKey, ...] = ()
    """Only where they were asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a tenant may use at the moment."""

    mode: TenantMode
    domains: tuple[HeldDomain, ...]

    def holds(self, name: str, purpose: Purpose) -> bool:
        return any(one.name == name and purpose in one.purposes for one in self.domains)

    def names(self, purpose: Purpose) -> tuple[str, ...]:
        return tuple(one.name for one in self.domains if purpose in one.purposes)
