"""What suppression needs from the system of record."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.suppression.model import (
    EVERY,
    NewSuppression,
    SealedAddress,
    SealedSuppression,
    Suppression,
    SuppressionFilter,
)


class TopicBook(Protocol):
    async def find(self, tx: Transaction, key: str) -> object | None:
        """None where the tenant has no such topic."""
        ...


class SuppressionStore(Protocol):
    async def release_opt_out(
        self, tx: Transaction, channel: Channel, hashes: Sequence[str], topic: str, by: str
    ) -> None:
        """Takes back the opt-outs of these addresses from one topic, or from all marketing (`""`); an opt-out from all
        marketing then spares the topic."""
        ...

    async def reach(
        self, tx: Transaction, recipient_id: UUID, channel: Channel, address_id: UUID | None
    ) -> Sequence[SealedAddress]:
        """The addresses of a person on a channel, and the one of this id."""
        ...

    async def put(self, tx: Transaction, suppression_id: UUID, new: NewSuppression) -> Suppression:
        """Adds it, raises what stands to the graver reason, or leaves it; a place whose time has run out is taken anew.

        Everyone with that address is marked for the gate to look at again."""
        ...

    async def find(self, tx: Transaction, suppression_id: UUID) -> Suppression | None:
        """Locked until the transaction ends."""
        ...

    async def release(self, tx: Transaction, suppression_id: UUID, by: str) -> Suppression | None: ...

    async def page(
        self, tx: Transaction, before: UUID | None, limit: int, wanted: SuppressionFilter = EVERY
    ) -> Sequence[Suppression]:
        """Those in force, newest first."""
        ...

    async def of_recipient(self, tx: Transaction, external_id: str) -> Sequence[Suppression]:
        """Those in force against the addresses of one person."""
        ...


class PlatformStore(Protocol):
    """Inside a transaction of the platform, which reaches tenants one at a time."""

    async def lock(self, tx: Transaction) -> None:
        """Nobody makes a tenant or a platform-wide suppression until the transaction ends."""
        ...

    def each_tenant(self, tx: Transaction) -> AsyncGenerator[Transaction]:
        """The same transaction as each tenant sees it, one after the other."""
        ...

    def within(self, tx: Transaction, tenant_id: str) -> AbstractAsyncContextManager[Transaction]:
        """The same transaction as one tenant sees it."""
        ...

    async def put(
        self, tx: Transaction, channel: Channel, hash_: str, suppression_id: UUID, expires_at: datetime | None
    ) -> None:
        """In the tenant of the transaction. Everyone with that address is marked for the gate to look at again."""
        ...

    async def drop(self, tx: Transaction, suppression_id: UUID) -> None:
        """In the tenant of the transaction."""
        ...

    async def sealed(self, tx: Transaction, after: UUID, limit: int) -> Sequence[SealedSuppression]:
        """The platform's own that are in force, oldest first."""
        ...
