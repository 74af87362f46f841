"""What one stored notification was made of, for whoever shows it or sends it again."""

from typing import Final

import msgspec

from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import DataKey, Keyring, SealBroken, place
from waypost.kernel.work import Transaction
from waypost.notifications.inputs import InputsBook, open_payload
from waypost.notifications.model import Payload
from waypost.notifications.ports import StoredNotification

_read_secrets: Final = msgspec.msgpack.Decoder(dict[str, JsonValue]).decode


class Opener:
    """Nothing opens once the recipient has been erased: their key is gone."""

    def __init__(self, *, keyring: Keyring, inputs: InputsBook) -> None:
        self._keyring = keyring
        self._inputs = inputs

    async def payload(self, tx: Transaction, stored: StoredNotification) -> Payload | None:
        key = await self.data_key(tx, stored)
        if key is None:
            return None
        try:
            return open_payload(key, tx.tenant_id, stored, await self._inputs.of(tx, [stored.payload]))
        except SealBroken:
            return None

    async def secrets(self, tx: Transaction, stored: StoredNotification) -> dict[str, JsonValue]:
        """One-time secrets that have not been dropped: of what never went out."""
        key = None if stored.secrets is None else await self.data_key(tx, stored)
        if key is None or stored.secrets is None:
            return {}
        try:
            return _read_secrets(key.open(stored.secrets, place("secrets", tx.tenant_id, stored.id)))
        except SealBroken:
            return {}

    async def data_key(self, tx: Transaction, stored: StoredNotification) -> DataKey | None:
        if stored.data_key is None:
            return None
        tenant_key = await self._keyring.of(tx)
        try:
            return tenant_key.unwrap(stored.data_key, place("data_key", tx.tenant_id, stored.recipient_id))
        except SealBroken:
            return None
