"""What a caller noted on a message, for whoever tells of it. Implements the outbox's `MetadataBook`."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.notifications.inputs import InputsBook, Shared, open_metadata
from waypost.outbox.ports import NotificationFacts


class Metadata:
    def __init__(self, *, keyring: Keyring, inputs: InputsBook) -> None:
        self._keyring = keyring
        self._inputs = inputs

    async def of(self, tx: Transaction, records: Sequence[NotificationFacts]) -> Mapping[UUID, dict[str, JsonValue]]:
        key = await self._keyring.of(tx)
        shared = await self._inputs.of(tx, (one.payload for one in records))
        return {one.id: _open(one, key, tx.tenant_id, shared) for one in records}


def _open(record: NotificationFacts, key: TenantKey, tenant_id: str, shared: Shared) -> dict[str, JsonValue]:
    """Of someone who was erased nothing is told."""
    if record.data_key is None:
        return {}
    try:
        owner = key.unwrap(record.data_key, place("data_key", tenant_id, record.recipient_id))
        return open_metadata(owner, tenant_id, record.id, record.payload, shared)
    except (SealBroken, msgspec.DecodeError):
        return {}
