"""Keys for DKIM: made here, kept as DER, and published as DNS records have it."""

import asyncio
import base64
from typing import Final

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from waypost.domains.model import Algorithm
from waypost.domains.ports import KeyPair

RSA_BITS: Final = 2_048


class DkimKeys:
    """Implements `domains.ports.KeyMaker`."""

    async def make(self, algorithm: Algorithm) -> KeyPair:
        if algorithm is Algorithm.ED25519:
            return _ed25519()
        # Looking for primes takes a tenth of a second, or three.
        return await asyncio.to_thread(_rsa)


def _ed25519() -> KeyPair:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return KeyPair(private_key=key.private_bytes_raw(), public_key=base64.b64encode(public).decode())


def _rsa() -> KeyPair:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=RSA_BITS)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair(private_key=private, public_key=base64.b64encode(public).decode())
