"""Signatures under one key for many messages: begun once and continued from there."""

import hashlib
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from hashlib import _Hash  # pyright: ignore[reportPrivateUsage]


def _sha256() -> "Callable[[bytes], _Hash]":
    """The interpreter's own where it has one: what it signs is short, and copying OpenSSL's state takes longer than the
    hashing itself."""
    for name in ("_sha2", "_sha256"):
        try:
            return cast("Callable[[bytes], _Hash]", import_module(name).sha256)
        except (ImportError, AttributeError):
            continue
    return hashlib.sha256


_begin: Final = _sha256()
_BLOCK: Final = 64
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


class Mac:
    """HMAC-SHA256, in a third of the time that each takes alone. Its repr shows nothing."""

    __slots__ = ("_begin_inner", "_begin_outer")

    def __init__(self, secret: bytes) -> None:
        if len(secret) > _BLOCK:
            secret = hashlib.sha256(secret).digest()
        block = secret.ljust(_BLOCK, b"\0")
        self._begin_inner = _begin(block.translate(_INNER)).copy
        self._begin_outer = _begin(block.translate(_OUTER)).copy

    def __call__(self, message: bytes) -> bytes:
        inner, outer = self._begin_inner(), self._begin_outer()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


PROOF_BYTES: Final = 16


class Prover:
    """BLAKE2s with a key (RFC 7693), 128 bits, in a fifth of the time of HMAC: a message is signed several times on its
    way out, its return path, its links, its mark. What is signed is short, which BLAKE2s is made for. Its repr shows
    nothing."""

    __slots__ = ("_begin",)

    def __init__(self, secret: bytes) -> None:
        self._begin = hashlib.blake2s(key=secret, digest_size=PROOF_BYTES).copy

    def __call__(self, message: bytes) -> bytes:
        proof = self._begin()
        proof.update(message)
        return proof.digest()
