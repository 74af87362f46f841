"""Sealing with AES-256-GCM: master key → tenant key → data key.

A sealed value is one byte that names the method and the generation of keys, a random nonce of 12 bytes, and the
ciphertext with its tag. A tenant's key is never used itself: what it wraps, seals, hashes and signs has a subkey each.
"""

import hmac
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from waypost.adapters.vault.masterkey import KEY_BYTES, MasterKey
from waypost.kernel.entropy import Pieces
from waypost.kernel.mac import Mac, Prover
from waypost.kernel.vault import SealBroken

_FIRST_GENERATION: Final = b"\x01"
_FIRST: Final = _FIRST_GENERATION[0]
_NONCE_END: Final = 13
_SHORTEST: Final = _NONCE_END + 16
_nonces: Final = Pieces(12)


class SealingKey:
    """One AES key. Implements `kernel.vault.DataKey`; its repr shows nothing."""

    __slots__ = ("_cipher",)

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(secret)

    def seal(self, plain: bytes, bound_to: str) -> bytes:
        nonce = _nonces.take()
        return _FIRST_GENERATION + nonce + self._cipher.encrypt(nonce, plain, bound_to.encode())

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        if len(sealed) < _SHORTEST or sealed[0] != _FIRST:
            raise SealBroken("This was not sealed by any key known here.")
        try:
            return self._cipher.decrypt(sealed[1:_NONCE_END], sealed[_NONCE_END:], bound_to.encode())
        except InvalidTag:
            raise SealBroken("This was sealed under another key, for another place, or was altered.") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class OpenTenantKey:
    """Implements `kernel.vault.TenantKey`."""

    __slots__ = ("_addresses", "_provers", "_purposes", "_seals", "_signatures", "_wraps")

    def __init__(self, secret: bytes) -> None:
        self._seals = SealingKey(_subkey(secret, "seal"))
        self._wraps = SealingKey(_subkey(secret, "wrap"))
        self._addresses = Mac(_subkey(secret, "address"))
        self._signatures = _subkey(secret, "sign")
        self._purposes: dict[str, Mac] = {}
        self._provers: dict[str, Prover] = {}

    def seal(self, plain: bytes, bound_to: str) -> bytes:
        return self._seals.seal(plain, bound_to)

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        return self._seals.open(sealed, bound_to)

    def new_data_key(self, bound_to: str) -> tuple[bytes, SealingKey]:
        secret = os.urandom(KEY_BYTES)
        return self._wraps.seal(secret, bound_to), SealingKey(secret)

    def unwrap(self, wrapped: bytes, bound_to: str) -> SealingKey:
        return SealingKey(self._wraps.open(wrapped, bound_to))

    def hash_address(self, channel_word: str, normalised: str) -> str:
        return "sha256:" + self._addresses(f"{channel_word}:{normalised}".encode()).hex()

    def sign(self, purpose: str, message: bytes) -> bytes:
        made = self._purposes.get(purpose)
        if made is None:
            made = self._purposes[purpose] = Mac(hmac.digest(self._signatures, purpose.encode(), "sha256"))
        return made(message)

    def proves(self, purpose: str) -> Prover:
        made = self._provers.get(purpose)
        if made is None:
            # Of a key of its own: what one algorithm signs says nothing about the other.
            made = self._provers[purpose] = Prover(hmac.digest(self._signatures, f"proof/{purpose}".encode(), "sha256"))
        return made

    def derive(self, purpose: str, message: bytes) -> SealingKey:
        return SealingKey(self.sign(purpose, message))

    def __repr__(self) -> str:
        return "OpenTenantKey(…)"


class LocalVault:
    """Implements `kernel.vault.Vault` over a master key on this host."""

    def __init__(self, master: MasterKey) -> None:
        self._wraps = SealingKey(master.derive_bytes("tenant-keys"))

    def new_tenant_key(self, tenant_id: str) -> bytes:
        return self._wraps.seal(os.urandom(KEY_BYTES), _tenant_place(tenant_id))

    def tenant_key(self, tenant_id: str, wrapped: bytes) -> OpenTenantKey:
        return OpenTenantKey(self._wraps.open(wrapped, _tenant_place(tenant_id)))

    def __repr__(self) -> str:
        return "LocalVault(…)"


def _tenant_place(tenant_id: str) -> str:
    return f"tenant_key:{tenant_id}"


def _subkey(secret: bytes, purpose: str) -> bytes:
    return HKDFExpand(algorithm=SHA256(), length=KEY_BYTES, info=f"waypost/{purpose}".encode()).derive(secret)
