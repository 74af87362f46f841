"""What exports need from the system of record."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.recipients.model import StoredRecipient


class ExportStore(Protocol):
    """People in the order in which they were made, without the erased and the merged."""

    async def people(
        self, tx: Transaction, after: UUID, limit: int, *, tag: str | None, list_id: UUID | None
    ) -> Sequence[StoredRecipient]: ...

    async def count(self, tx: Transaction, *, tag: str | None, list_id: UUID | None) -> int: ...
