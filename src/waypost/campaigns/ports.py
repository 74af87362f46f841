"""What dispatch batches need from the system of record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.campaigns.model import Audience, Batch, BatchState
from waypost.delivery.model import State
from waypost.kernel.work import Transaction


class BatchStore(Protocol):
    async def add(self, tx: Transaction, batch: Batch) -> None: ...

    async def find(self, tx: Transaction, batch_id: UUID) -> Batch | None: ...

    async def lock(self, tx: Transaction, batch_id: UUID, *, wait: bool) -> Batch | None:
        """As it is now, held until the transaction ends. None where there is none, or, without waiting, where somebody
        else holds it."""
        ...

    async def change(
        self,
        tx: Transaction,
        batch_id: UUID,
        state: BatchState,
        at: datetime,
        *,
        starts_at: datetime | None = None,
        next_step_at: datetime | None = None,
        reason: str | None = None,
    ) -> None:
        """`next_step_at` None: no worker looks at it again."""
        ...

    async def advance(
        self, tx: Transaction, batch_id: UUID, place: UUID, expanded: int, refused: int, next_step_at: datetime
    ) -> None:
        """A chunk is done; written in the transaction of its messages."""
        ...

    async def note_failure(self, tx: Transaction, batch_id: UUID, next_step_at: datetime) -> None: ...

    async def audience(self, tx: Transaction, audience: Audience, after: UUID, at_most: int) -> Sequence[UUID]:
        """Recipients behind the place, in the order of their ids."""
        ...

    async def names(self, tx: Transaction, people: Sequence[UUID]) -> Sequence[str]:
        """The caller's own ids of those who are still there."""
        ...

    async def totals(self, tx: Transaction, dedupe_key: str) -> Mapping[State, int]: ...

    async def waiting(self, tx: Transaction, dedupe_key: str, at_most: int) -> Sequence[UUID]:
        """Messages of the batch that wait in the queue."""
        ...


class BatchBoard(Protocol):
    """Looks over all tenants; names only whose batch and which."""

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]: ...
