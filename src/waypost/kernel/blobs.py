"""Bytes kept once, however many messages carry them.

A blob is found by a keyed hash and sealed under a key that is derived from its own digest: whoever holds the digest,
which lies sealed in what refers to the blob, can open it; the row and the owner's key alone cannot. So a blob goes with
the last person whose message names it, also out of old backups."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from waypost.kernel.vault import SealBroken, TenantKey
from waypost.kernel.work import Transaction

_ADDRESS: Final = "blob-address"
_KEY: Final = "blob-key"


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedBlob:
    address: bytes
    sealed: bytes = field(repr=False)
    until: datetime | None
    """None: for ever."""


class BlobStore(Protocol):
    """Sealed bytes of a tenant, by address."""

    async def touch(self, tx: Transaction, until: Mapping[bytes, datetime | None]) -> Set[bytes]:
        """Keeps those that are there at least until then, and says which they are."""
        ...

    async def add(self, tx: Transaction, blobs: Sequence[SealedBlob]) -> None:
        """What another transaction has added meanwhile stays as it is."""
        ...

    async def add_uses(self, tx: Transaction, uses: Sequence[tuple[bytes, UUID]]) -> None: ...

    async def read(self, tx: Transaction, owner: str, addresses: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """`owner`: the transaction's tenant, or the platform."""
        ...


class ObjectStore(Protocol):
    """Files that an operator or another program has laid down for a tenant."""

    async def read(self, tenant_id: str, key: str, most_bytes: int) -> bytes | None:
        """None where there is no such object. Raises `ValueError` where it is larger than that."""
        ...


def digest_of(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


class Blobs:
    def __init__(self, store: BlobStore) -> None:
        self._store = store

    async def keep(
        self, tx: Transaction, key: TenantKey, contents: Mapping[bytes, bytes], until: Mapping[bytes, datetime | None]
    ) -> None:
        """Contents by digest; each at least until its time, or for ever. What is there already is not sent again."""
        addresses = {_address(key, digest): digest for digest in contents}
        ends = {address: until[digest] for address, digest in addresses.items()}
        known = await self._store.touch(tx, ends)
        new = [
            SealedBlob(address=address, sealed=_seal(tx.tenant_id, key, digest, contents[digest]), until=ends[address])
            for address, digest in sorted(addresses.items())
            if address not in known
        ]
        await self._store.add(tx, new)

    async def note_uses(self, tx: Transaction, key: TenantKey, uses: Iterable[tuple[bytes, UUID]]) -> None:
        """Whose messages (recipients) carry which contents (digests)."""
        await self._store.add_uses(tx, sorted({(_address(key, digest), recipient) for digest, recipient in uses}))

    async def open(
        self, tx: Transaction, owner: str, key: TenantKey, digests: Sequence[bytes]
    ) -> Mapping[bytes, bytes]:
        """What is not there, or is not what it was, is left out."""
        addresses = {_address(key, digest): digest for digest in digests}
        found: dict[bytes, bytes] = {}
        for address, sealed in (await self._store.read(tx, owner, list(addresses))).items():
            digest = addresses[address]
            try:
                found[digest] = key.derive(_KEY, digest).open(sealed, _place(owner, digest))
            except SealBroken:
                continue
        return found


def _address(key: TenantKey, digest: bytes) -> bytes:
    return key.sign(_ADDRESS, digest)


def _seal(owner: str, key: TenantKey, digest: bytes, content: bytes) -> bytes:
    return key.derive(_KEY, digest).seal(content, _place(owner, digest))


def _place(owner: str, digest: bytes) -> str:
    return f"blob:{owner}:{digest.hex()}"
