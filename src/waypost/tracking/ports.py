"""What tracking needs from outside."""

from collections.abc import Sequence, Set
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.tracking.model import Seen, SeenEntry


class TrackingHost(Protocol):
    """Under which address readers reach us. A tenant's own tracking domain, where one is verified."""

    async def base_of(self, tx: Transaction) -> str:
        """`https://links.example.com`, without a slash at its end."""
        ...


class TrackingStore(Protocol):
    async def add(self, tx: Transaction, seen: Sequence[Seen]) -> Set[UUID]:
        """Stores each, with news of it, and names those stored. What is about a message that is not there, about a
        person who has been erased or about a version that the message does not show, is left out."""
        ...

    async def of_notification(self, tx: Transaction, notification_id: UUID, most: int) -> Sequence[SeenEntry]:
        """Oldest first."""
        ...


class TrackingTelemetry(Protocol):
    """Told what came of what was seen: `recorded`, `left_out`, `repeated`, `lost`, `refused`."""

    def seen(self, kind: str, result: str, times: int = 1) -> None: ...
