"""What the recipients slice needs from the system of record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import Known, StoredAddress, StoredRecipient


class RecipientStore(Protocol):
    async def look_up(
        self, tx: Transaction, ids: Sequence[str], spots: Sequence[tuple[Channel, str]]
    ) -> Sequence[Known]:
        """Who has one of the external ids (erased ones too) or one of the addresses, by channel and hash; in the order
        in which they were made."""
        ...

    async def by_external_ids(self, tx: Transaction, ids: Sequence[str]) -> Sequence[StoredRecipient]: ...

    async def lock(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredRecipient]:
        """As they are now, held against other changes until the transaction ends."""
        ...

    async def add(
        self, tx: Transaction, rows: Sequence[StoredRecipient], addresses: Sequence[StoredAddress]
    ) -> frozenset[UUID]:
        """Adds all whose external id is free, with their addresses, and says which; waits for others who are adding
        the same."""
        ...

    async def change(self, tx: Transaction, rows: Sequence[StoredRecipient]) -> None: ...

    async def erase(self, tx: Transaction, row: StoredRecipient) -> None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredRecipient]:
        """Newest first, without the erased."""
        ...

    async def note_gate_changes(self, tx: Transaction, ids: Sequence[UUID], at: datetime) -> None:
        """Messages already queued for these people ask the whole gate again before they go."""
        ...


class AddressStore(Protocol):
    async def of_recipients(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredAddress]:
        """All that are not revoked, the newest given first."""
        ...

    async def hold_newcomers(self, tx: Transaction, hashes: Sequence[str]) -> None:
        """Until the transaction ends nobody else makes a recipient for one of these addresses."""
        ...

    async def add(self, tx: Transaction, rows: Sequence[StoredAddress]) -> None: ...

    async def put_in_front(self, tx: Transaction, given: Mapping[UUID, datetime]) -> None: ...

    async def revoke(self, tx: Transaction, ids: Sequence[UUID], at: datetime) -> None: ...
