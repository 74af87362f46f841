"""What is known about a message's readers, for whoever may read the message."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.tracking import Client
from waypost.kernel.vault import Keyring, SealBroken, place
from waypost.kernel.work import Transaction
from waypost.tracking.model import Kind, SeenEntry
from waypost.tracking.ports import TrackingStore

_MOST_SHOWN: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Noticed:
    """One load of the pixel, or one link followed, as it is shown."""

    at: datetime
    kind: Kind
    client: Client
    link: int
    url: str | None
    """Where the link leads; None where that differs from reader to reader, and is therefore not kept."""


class TrackingLog:
    def __init__(self, *, store: TrackingStore, keyring: Keyring) -> None:
        self._store = store
        self._keyring = keyring

    async def of_notification(self, tx: Transaction, notification_id: UUID) -> Sequence[Noticed]:
        """Oldest first, the first few hundred."""
        entries = await self._store.of_notification(tx, notification_id, _MOST_SHOWN)
        return [
            Noticed(
                at=entry.at,
                kind=entry.kind,
                client=entry.client,
                link=entry.link,
                url=await self._url(tx, entry),
            )
            for entry in entries
        ]

    async def _url(self, tx: Transaction, entry: SeenEntry) -> str | None:
        if entry.target is None:
            return None
        key = await self._keyring.of(tx)
        try:
            return key.open(entry.target, place("tracking_target", tx.tenant_id, entry.id)).decode()
        except SealBroken:
            return None
