"""What the recipients slice needs from the system of record."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import (
    Erasure,
    LookedUp,
    Member,
    RecipientList,
    StoredAddress,
    StoredRecipient,
    WaitingMessage,
)


class RecipientStore(Protocol):
    async def look_up(
        self, tx: Transaction, ids: Sequence[str], spots: Sequence[tuple[Channel, str]], *, moments: bool = True
    ) -> LookedUp:
        """Who has one of the external ids (erased ones too) or one of the addresses, by channel and hash; in the order
        in which they were made. Without `moments`, `UNASKED` stands for when they were made, changed and given."""
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

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredRecipient]: ...

    async def merged_into(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[UUID]:
        """All who became part of these."""
        ...

    async def erased_among(self, tx: Transaction, hashes: Sequence[str]) -> frozenset[str]:
        """Hashes of ids that stay taken by people who were erased."""
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

    async def verify(self, tx: Transaction, address_id: UUID, at: datetime, *, verified: bool) -> None: ...

    async def suppressed_among(self, tx: Transaction, hashes: Sequence[str]) -> frozenset[str]:
        """Those that nothing is sent to at all."""
        ...


class RecipientPages(Protocol):
    """Lists of people, without the erased and the merged: newest first, those by prefix in the order of their ids."""

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredRecipient]: ...

    async def page_by_prefix(
        self, tx: Transaction, prefix: str, after: str, limit: int
    ) -> Sequence[StoredRecipient]: ...

    async def page_by_tag(
        self, tx: Transaction, tag: str, before: UUID | None, limit: int
    ) -> Sequence[StoredRecipient]: ...

    async def page_by_list(
        self, tx: Transaction, list_id: UUID, before: UUID | None, limit: int
    ) -> Sequence[StoredRecipient]: ...


class TagStore(Protocol):
    async def of_recipients(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, tuple[str, ...]]:
        """Sorted; whoever has none is not there."""
        ...

    async def add(self, tx: Transaction, pairs: Sequence[tuple[UUID, str]]) -> None: ...

    async def remove(self, tx: Transaction, pairs: Sequence[tuple[UUID, str]]) -> None: ...


class ListStore(Protocol):
    async def put(self, tx: Transaction, made: RecipientList) -> RecipientList:
        """Made, or its title changed; as it is now."""
        ...

    async def find(self, tx: Transaction, key: str) -> RecipientList | None: ...

    async def page(self, tx: Transaction, after: str, limit: int) -> Sequence[RecipientList]: ...

    async def remove(self, tx: Transaction, list_id: UUID) -> None: ...

    async def members(self, tx: Transaction, list_id: UUID, before: UUID | None, limit: int) -> Sequence[Member]: ...

    async def member_ids(self, tx: Transaction, list_id: UUID, limit: int) -> Sequence[str]:
        """External ids, oldest recipient first."""
        ...

    async def add_members(self, tx: Transaction, list_id: UUID, ids: Sequence[UUID], at: datetime) -> int: ...

    async def remove_members(self, tx: Transaction, list_id: UUID, ids: Sequence[UUID]) -> int: ...

    async def of_recipient(self, tx: Transaction, recipient_id: UUID) -> Sequence[RecipientList]: ...


class MergeStore(Protocol):
    """What moves when one recipient becomes part of another."""

    async def mark_merged(self, tx: Transaction, source: UUID, target: UUID, at: datetime) -> None:
        """The source, and all that had become part of it before, lead to the target from now on."""
        ...

    async def move_memberships(self, tx: Transaction, source: UUID, target: UUID) -> None: ...

    async def move_messages(
        self,
        tx: Transaction,
        source: UUID,
        target: UUID,
        again: Callable[[WaitingMessage], WaitingMessage],
    ) -> None:
        """What the source was sent under a dedupe key counts as sent to the target, and what still waits goes there:
        `again` makes such a message one to the target."""
        ...


class AlsoMerges(Protocol):
    """Whoever keeps something about people joins in when two become one; where both have a say, the stricter holds."""

    async def merge(self, tx: Transaction, source: UUID, target: UUID) -> None: ...


class AlsoForgets(Protocol):
    """Whoever keeps something about people joins in when one is erased, and says what went, by name and number."""

    async def forget(self, tx: Transaction, ids: Sequence[UUID], hashes: Sequence[str]) -> Mapping[str, int]:
        """`ids` are the recipient and all that were merged into it; `hashes` those of their addresses."""
        ...


class EraseStore(Protocol):
    async def shred(self, tx: Transaction, ids: Sequence[UUID], at: datetime) -> Mapping[str, int]:
        """Destroys the data keys and all that only they could open; what remains are ids of ours and keyed hashes."""
        ...

    async def add(self, tx: Transaction, erasures: Sequence[Erasure]) -> None: ...

    async def of_keys(self, tx: Transaction, digests: Sequence[str]) -> Sequence[UUID]:
        """Who still has one of these data keys, each named by the SHA-256 of how it is stored. Reads everyone."""
        ...

    async def by_hash(self, tx: Transaction, id_hash: str) -> Erasure | None:
        """The erasure that covers an id."""
        ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[Erasure]: ...
