"""What preferences need from the system of record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.preferences.model import Choices, Consent, ConsentHead, Policy, Someone, Topic


class TopicBook(Protocol):
    async def find(self, tx: Transaction, key: str) -> Topic | None: ...


class TopicStore(TopicBook, Protocol):
    async def find_for_change(self, tx: Transaction, key: str) -> Topic | None:
        """Locked until the transaction ends."""
        ...

    async def all(self, tx: Transaction) -> Sequence[Topic]:
        """In the tenant's order."""
        ...

    async def page(self, tx: Transaction, after: tuple[int, str] | None, limit: int) -> Sequence[Topic]:
        """In the same order, behind a position and key."""
        ...

    async def put(self, tx: Transaction, topic: Topic) -> None: ...

    async def delete(self, tx: Transaction, key: str) -> bool: ...


class ChoiceStore(Protocol):
    async def someone(self, tx: Transaction, external_id: str) -> Someone | None:
        """Erased ones too; a merged id leads to the one that is left."""
        ...

    async def someone_by_id(self, tx: Transaction, recipient_id: UUID) -> Someone | None: ...

    async def find(self, tx: Transaction, recipient_id: UUID) -> Choices:
        """Blank where nothing was ever chosen."""
        ...

    async def find_for_change(self, tx: Transaction, recipient_id: UUID) -> Choices:
        """Nobody else changes them until the transaction ends."""
        ...

    async def put(self, tx: Transaction, recipient_id: UUID, choices: Choices) -> None: ...

    async def delete(self, tx: Transaction, ids: Sequence[UUID]) -> int:
        """How many had chosen something."""
        ...

    async def watch(self, tx: Transaction, recipient_id: UUID, *, always: bool) -> None:
        """Messages already queued for this person ask the whole gate again; `always`: every one from now on does."""
        ...


class PolicyStore(Protocol):
    async def policy(self, tx: Transaction) -> Policy: ...

    async def policy_for_change(self, tx: Transaction) -> Policy: ...

    async def put_policy(self, tx: Transaction, policy: Policy, at: datetime) -> None: ...

    async def watch_everyone(self, tx: Transaction, *, always: bool) -> None:
        """Everything already queued asks the whole gate again; `always`: and everything from now on."""
        ...


class ConsentStore(Protocol):
    async def lock(self, tx: Transaction, recipient_id: UUID) -> None:
        """Histories grow one row at a time."""
        ...

    async def last(self, tx: Transaction, recipient_id: UUID) -> Consent | None: ...

    async def add(self, tx: Transaction, recipient_id: UUID, consent: Consent, head: ConsentHead) -> None: ...

    async def page(self, tx: Transaction, recipient_id: UUID, before: int | None, limit: int) -> Sequence[Consent]:
        """Newest first."""
        ...

    async def whole(self, tx: Transaction, recipient_id: UUID) -> tuple[Sequence[Consent], ConsentHead | None]:
        """From the beginning."""
        ...

    async def standing(self, tx: Transaction, recipient_id: UUID) -> Mapping[tuple[int, str], Consent]:
        """The last word about each (channel, topic)."""
        ...
