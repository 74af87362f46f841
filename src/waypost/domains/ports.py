"""What domains need from outside: the system of record, DNS, key making, and someone to tell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from waypost.domains.model import Algorithm, Domain, SigningKey, Standing
from waypost.kernel.work import Transaction


class Seen(StrEnum):
    FOUND = "found"
    ABSENT = "absent"
    """The name servers say that there is none."""
    UNKNOWN = "unknown"
    """Nobody said anything that can be relied on: no answer, SERVFAIL, a lame or looping name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DnsAnswer:
    seen: Seen
    values: tuple[str, ...] = ()


class Dns(Protocol):
    """Never raises: what goes wrong is in the answer. Names in the answers are in lower case, without a last dot."""

    async def txt(self, name: str) -> DnsAnswer:
        """Each record's strings, joined."""
        ...

    async def cname(self, name: str) -> DnsAnswer:
        """What the name itself is an alias of."""
        ...

    async def mx(self, name: str) -> DnsAnswer:
        """The hosts, best first."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyPair:
    private_key: bytes
    public_key: str

    def __repr__(self) -> str:
        return "KeyPair(…)"


class KeyMaker(Protocol):
    async def make(self, algorithm: Algorithm) -> KeyPair: ...


class Signer(Protocol):
    """Signs for one domain with all its active keys."""

    @property
    def takes_long(self) -> bool:
        """Longer than all else that is done for a message: another thread should do it."""
        ...

    def begin(self, message: bytes, at: datetime, tail: bytes = b"") -> Callable[[], bytes]:
        """Reads the message. What is answered makes the signatures, in any thread: the header fields to put in front of
        the message, each ending with CR LF. `tail` follows the message on the wire and belongs to its body."""
        ...


class SignerMaker(Protocol):
    def __call__(self, domain: str, keys: Sequence[SigningKey]) -> Signer:
        """`keys` are open, that is, not sealed."""
        ...


class DomainStore(Protocol):
    """Inside one tenant's transaction."""

    async def add(self, tx: Transaction, domain: Domain) -> bool:
        """False where the tenant has a domain of this name already."""
        ...

    async def find(self, tx: Transaction, domain_id: UUID, *, for_change: bool = False) -> Domain | None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[Domain]: ...

    async def count(self, tx: Transaction) -> int:
        """Whoever counts does so one after the other, until the transaction ends."""
        ...

    async def change(self, tx: Transaction, domain: Domain) -> None:
        """The domain with its keys, as they are now."""
        ...

    async def remove(self, tx: Transaction, domain_id: UUID) -> None: ...

    async def hold_name(self, tx: Transaction, name: str) -> bool:
        """Whether another tenant holds the name. Until the transaction ends nobody else can come to hold it."""
        ...

    async def postpone(self, tx: Transaction, domain_id: UUID, now: datetime, until: datetime) -> bool:
        """Takes a due check for oneself; False where somebody else has."""
        ...


class StandingStore(Protocol):
    async def standing(self, tx: Transaction, *, with_keys: bool = False) -> Standing:
        """The tenant's mode, and the domains that it may use now."""
        ...


class DueDomains(Protocol):
    async def due(self, now: datetime, at_most: int) -> Sequence[tuple[str, UUID]]:
        """Tenant and domain, the longest waiting first."""
        ...


class DomainEvent(StrEnum):
    VERIFIED = "verified"
    FAILING = "failing"
    FAILED = "failed"
    REMOVED = "removed"
    """Given up by its tenant."""


class DomainNews(Protocol):
    """Told in the transaction of what happened."""

    async def tell(self, tx: Transaction, domain: Domain, event: DomainEvent) -> None: ...
