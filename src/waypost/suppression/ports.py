"""What suppression needs from the system of record."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.suppression.model import NewSuppression, Suppression


class SuppressionStore(Protocol):
    async def put(self, tx: Transaction, suppression_id: UUID, new: NewSuppression) -> Suppression:
        """Adds it, raises what stands to the graver reason, or leaves it; a place whose time has run out is taken anew.

        Everyone with that address is marked for the gate to look at again."""
        ...

    async def find(self, tx: Transaction, suppression_id: UUID) -> Suppression | None:
        """Locked until the transaction ends."""
        ...

    async def release(self, tx: Transaction, suppression_id: UUID, by: str) -> Suppression | None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[Suppression]:
        """Those in force, newest first."""
        ...

    async def of_recipient(self, tx: Transaction, external_id: str) -> Sequence[Suppression]:
        """Those in force against the addresses of one person."""
        ...
