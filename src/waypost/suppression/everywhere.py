"""Suppressions of the platform: made once, in force in every tenant, also in those made later.

Addresses are hashed under each tenant's own key, so that nobody can tell whether two tenants know the same person. A
platform-wide suppression is therefore written into each tenant under that tenant's hash, and its address is kept,
sealed under the platform's key, for tenants to come. Tenants see that the platform stops it, never who or why.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.address import PHONE_CHANNELS
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import PHONE
from waypost.suppression.model import Suppression
from waypost.suppression.ports import PlatformStore

SEALED: Final = "platform_suppression"
_PAGE: Final = 1_000


class Everywhere:
    def __init__(self, *, store: PlatformStore, keyring: Keyring) -> None:
        self._store = store
        self._keyring = keyring

    async def seal(self, tx: Transaction, hash_: str, address: str) -> bytes:
        """`tx` is the platform's. Bound to the platform's own hash of the address, which stays when it is raised."""
        return (await self._keyring.of(tx)).seal(address.encode(), f"{SEALED}:{hash_}")

    async def hold(self, tx: Transaction) -> None:
        await self._store.lock(tx)

    async def spread(self, tx: Transaction, standing: Suppression, address: str) -> None:
        async for there in self._store.each_tenant(tx):
            await self._put(there, standing.channel, address, standing.id, standing.expires_at)

    async def take_back(self, tx: Transaction, suppression_id: UUID) -> None:
        async for there in self._store.each_tenant(tx):
            await self._store.drop(there, suppression_id)

    async def welcome(self, tx: Transaction, tenant_id: str) -> None:
        """A tenant is being made: what stands is in force there from its beginning."""
        await self._store.lock(tx)
        key, after = await self._keyring.of(tx), UUID(int=0)
        while found := await self._store.sealed(tx, after, _PAGE):
            after = found[-1].id
            async with self._store.within(tx, tenant_id) as there:
                for one in found:
                    address = key.open(one.sealed, f"{SEALED}:{one.hash}").decode()
                    await self._put(there, one.channel, address, one.id, one.expires_at)

    async def _put(
        self, there: Transaction, channel: Channel, address: str, suppression_id: UUID, expires_at: datetime | None
    ) -> None:
        hashed = (await self._keyring.of(there)).hash_address(hash_word(channel), address)
        await self._store.put(there, channel, hashed, suppression_id, expires_at)


def hash_word(channel: Channel) -> str:
    """Under which word an address is hashed: one telephone number serves several channels."""
    return PHONE.word if channel in PHONE_CHANNELS else channel.word
