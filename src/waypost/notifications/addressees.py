"""To whom a message went, for a rescuer: the address lies sealed in the message's inputs.

Implements delivery's `Addressees`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

import msgspec

from waypost.kernel.address import mask
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction, Work
from waypost.notifications.inputs import InputsBook, Shared, open_envelope


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedAddressee:
    id: UUID
    channel: Channel
    recipient_id: UUID
    address_id: UUID
    payload: bytes = field(repr=False)
    data_key: bytes = field(repr=False)


class AddresseeStore(Protocol):
    async def sealed(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[SealedAddressee]:
        """Of these notifications, sorted. Whoever was erased is left out."""
        ...


class Addressees:
    def __init__(self, *, work: Work, store: AddresseeStore, keyring: Keyring, inputs: InputsBook) -> None:
        self._work = work
        self._store = store
        self._keyring = keyring
        self._inputs = inputs

    async def masked(self, tenant_id: str, ids: Sequence[UUID]) -> Mapping[UUID, tuple[UUID, str]]:
        async with self._work.begin(tenant_id) as tx:
            key = await self._keyring.of(tx)
            found = await self._store.sealed(tx, ids)
            shared = await self._inputs.of(tx, (one.payload for one in found))
        read = [(one, _open(tenant_id, key, one, shared)) for one in found]
        return {one.id: (one.address_id, mask(one.channel, address)) for one, address in read if address is not None}


def _open(tenant_id: str, key: TenantKey, one: SealedAddressee, shared: Shared) -> str | None:
    """None where it does not open: what it belongs to is settled all the same."""
    try:
        owner = key.unwrap(one.data_key, place("data_key", tenant_id, one.recipient_id))
        return open_envelope(owner, tenant_id, one, shared).address
    except (SealBroken, msgspec.DecodeError):
        return None
