"""What a mailbox provider is like, and what became of a rehearsal."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

ANY_DOMAIN: Final = "*"


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shares are of its people, from 0 to 1; times are in seconds."""

    name: str
    domains: tuple[str, ...]
    """`*` for all that nobody else has."""
    share: float = 1.0
    """Of people who are made up, how many are there, beside the other providers' shares."""
    latency: float = 0.2
    """From the first word about a message to the last."""
    connections: int = 20
    """How many messages it takes at a time."""
    hourly_limit: int | None = None
    """What comes beyond that is put off with 4.7.x."""
    greylisted: float = 0.0
    greylist_seconds: float = 60.0
    """How long somebody unknown is put off."""
    storm_every: float = 0.0
    """421 to everybody, at once and again after so long; 0: never."""
    storm_seconds: float = 60.0
    """How long each lasts."""
    blocked: float = 0.0
    """Refused by policy (5.7.x): about us, not about them."""
    full: float = 0.0
    full_seconds: float = 7200.0
    """How long a full mailbox stays so."""
    unknown: float = 0.0
    """No such user (5.1.1)."""
    returned: float = 0.0
    """Taken, and sent back later as undeliverable."""
    return_seconds: float = 900.0
    complaints: float = 0.0
    complaint_seconds: float = 3600.0


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole Internet of them."""

    name: str
    providers: tuple[Provider, ...]

    def of(self, address: str) -> Provider | None:
        """Who has the mailbox; None where nobody does, as for a domain that does not exist."""
        domain = address.rpartition("@")[2].lower()
        anybody: Provider | None = None
        for provider in self.providers:
            if domain in provider.domains:
                return provider
            if ANY_DOMAIN in provider.domains:
                anybody = provider
        return anybody


class Verdict(StrEnum):
    """How a provider answers a recipient's address."""

    TAKEN = "taken"
    GREYLISTED = "greylisted"
    LIMITED = "limited"
    STORM = "storm"
    FULL = "full"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class ReturnKind(StrEnum):
    UNDELIVERABLE = "undeliverable"
    COMPLAINT = "complaint"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Return:
    """Something that comes back about a message that was taken."""

    at: datetime
    address: str
    kind: ReturnKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """Somebody the rehearsal writes to. The address is made up, except for its domain."""

    address: str
    suppressed: bool = False
    locale: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """What everyone is sent: finished words."""

    subject: str
    html: str | None = None
    text: str | None = None
    is_marketing: bool = True


class ProviderReport(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    recipients: int
    taken: int
    deferred: int
    """Answers that put a message off."""
    refused: int
    undeliverable: int
    complaints: int
    per_hour: int
    """Messages taken, on the average from its first to its last."""
    busiest_minute: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    profile: str
    seed: int
    recipients: int
    ended: dict[str, int]
    """By state."""
    reasons: dict[str, int]
    """Why those who got nothing got nothing."""
    attempts: int
    deferrals: int
    retries: int
    finished_after_seconds: int
    """Until the last message had its end."""
    settled_after_seconds: int
    """Until nothing came back any more."""
    suppressed: dict[str, int]
    """Addresses that would not be written to again, by reason."""
    providers: tuple[ProviderReport, ...]

    @property
    def finished_after(self) -> timedelta:
        return timedelta(seconds=self.finished_after_seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calls:
    """To providers, over all messages."""

    attempts: int = 0
    deferrals: int = 0
    retries: int = 0
