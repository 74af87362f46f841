"""Sealing of personal data: what slices ask of the keyring, without knowing how it is done.

master key → tenant key → recipient's data key. Destroying a data key erases everything sealed under it.
`bound_to` is authenticated with the ciphertext (tenant, owner, column), so a ciphertext moved elsewhere does not open.
"""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction


def place(column: str, tenant_id: str, owner: UUID) -> str:
    """Where a ciphertext belongs: `data_key` and `attributes` of a recipient, `address` of an address, and so on."""
    if type(owner) is not UUID:
        return f"{column}:{tenant_id}:{owner!s}"
    # As it spells itself, in half of the time.
    digits = owner.int.to_bytes(16, "big").hex()
    return f"{column}:{tenant_id}:{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class DataKey(Protocol):
    """An unwrapped key. Its repr shows nothing."""

    def seal(self, plain: bytes, bound_to: str) -> bytes: ...

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        """Raises `SealBroken` where the ciphertext is not what was sealed under this key for this place."""
        ...


class TenantKey(DataKey, Protocol):
    """The tenant's key seals what belongs to no recipient and wraps recipients' keys."""

    def new_data_key(self, bound_to: str) -> tuple[bytes, DataKey]:
        """A fresh data key, wrapped (to store) and open (to use now)."""
        ...

    def unwrap(self, wrapped: bytes, bound_to: str) -> DataKey: ...

    def hash_address(self, channel_word: str, normalised: str) -> str:
        """`sha256:` + 64 hex digits, keyed by tenant and deployment: only equal addresses of one tenant meet."""
        ...

    def sign(self, purpose: str, message: bytes) -> bytes:
        """A 32-byte HMAC under a key derived for the purpose."""
        ...

    def proves(self, purpose: str) -> Callable[[bytes], bytes]:
        """Signs in 16 bytes and much faster (`kernel.mac.Prover`), for what every message carries several of."""
        ...

    def derive(self, purpose: str, message: bytes) -> DataKey:
        """The key that belongs to a message: the same whenever it is asked for, and unknown without the message."""
        ...


class Vault(Protocol):
    def new_tenant_key(self, tenant_id: str) -> bytes:
        """A fresh tenant key, wrapped by the master key, to store with the tenant."""
        ...

    def tenant_key(self, tenant_id: str, wrapped: bytes) -> TenantKey: ...


class SealBroken(Exception):
    """A ciphertext did not open: wrong key, wrong place or altered bytes."""


class Keyring(Protocol):
    async def of(self, tx: Transaction) -> TenantKey:
        """The open key of the transaction's tenant; read once per process and tenant."""
        ...

    async def of_platform(self, tx: Transaction) -> TenantKey:
        """The platform's key, under which lies what it publishes for every tenant to read."""
        ...
