"""What the mailbox asks of the system of record."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.mailbox.model import SealedLetter


class MailboxStore(Protocol):
    async def add(self, tx: Transaction, letters: Sequence[SealedLetter], most_kept: int) -> None:
        """Keeps these and deletes what is older than the newest `most_kept`."""
        ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[tuple[UUID, bytes]]:
        """Ids and sealed summaries, newest first."""
        ...

    async def raw(self, tx: Transaction, letter_id: UUID) -> bytes | None:
        """The sealed message."""
        ...
