"""DKIM signatures: one hash of the body and one pass over the header, however many keys sign.

relaxed/relaxed, never `l=`; From, To, Subject and Date are oversigned.
"""

import base64
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric import padding, rsa, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_private_key

from waypost.adapters.dkim.canonical import Fields, relaxed_body, split_message
from waypost.domains.model import Algorithm, SigningKey

_FIELD: Final = "DKIM-Signature"
_LINE: Final = 72
_NAMES_LINE: Final = 66
_PADDING: Final = padding.PKCS1v15()
_HASHED: Final = utils.Prehashed(SHA256())


class DkimSigner:
    """Implements `domains.ports.Signer`. Its repr shows nothing."""

    __slots__ = ("_fields", "_last_names", "_last_spelled", "_ways", "takes_long")

    def __init__(self, domain: str, keys: Sequence[SigningKey]) -> None:
        self._ways = [
            (f"v=1; a={key.algorithm.value}-sha256; c=relaxed/relaxed; d={domain};", key.selector, _way(key))
            for key in keys
        ]
        self.takes_long = any(key.algorithm is Algorithm.RSA for key in keys)
        self._fields = Fields()
        self._last_names = self._last_spelled = ""

    def begin(self, message: bytes, at: datetime, tail: bytes = b"") -> Callable[[], bytes]:
        head, body = split_message(message)
        body_hash = base64.b64encode(hashlib.sha256(relaxed_body(body + tail)).digest()).decode()
        names, fields = self._fields.signed(head)
        if names != self._last_names:
            self._last_names, self._last_spelled = names, _folded_names(names)
        common = hashlib.sha256(fields)
        end = f"\r\n h={self._last_spelled};\r\n bh={body_hash};\r\n b="
        moment = int(at.timestamp())
        hashed: list[tuple[str, bytes, Callable[[bytes], bytes]]] = []
        for start, selector, way in self._ways:
            said = f"{start}\r\n s={selector}; t={moment};{end}"
            whole = common.copy()
            # Every line break above is followed by one blank, so this is the canonical form.
            whole.update(f"{_FIELD.lower()}:{said}".replace("\r\n", "").encode("ascii"))
            hashed.append((said, whole.digest(), way))
        return partial(_signatures, hashed)

    def __repr__(self) -> str:
        return "DkimSigner(…)"


def _signatures(hashed: Sequence[tuple[str, bytes, Callable[[bytes], bytes]]]) -> bytes:
    fields = [f"{_FIELD}: {said}{_folded(base64.b64encode(way(digest)).decode())}\r\n" for said, digest, way in hashed]
    return "".join(fields).encode("ascii")


def _way(key: SigningKey) -> Callable[[bytes], bytes]:
    """From a SHA-256 hash to a signature."""
    if key.algorithm is Algorithm.ED25519:
        return Ed25519PrivateKey.from_private_bytes(key.private_key).sign
    # Made by us and sealed since: checking its primes again would cost more than a hundred signatures.
    private = load_der_private_key(key.private_key, None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(private, rsa.RSAPrivateKey):
        raise TypeError("This is not an RSA key.")
    return lambda hashed: private.sign(hashed, _PADDING, _HASHED)


def _folded(signature: str) -> str:
    """White space within `b=` does not count."""
    return "\r\n ".join(signature[start : start + _LINE] for start in range(0, len(signature), _LINE))


def _folded_names(names: str) -> str:
    lines: list[str] = [""]
    for name in names.split(":"):
        if lines[-1] and len(lines[-1]) + len(name) > _NAMES_LINE:
            lines.append("")
        lines[-1] += f"{name}:"
    return "\r\n ".join(lines).removesuffix(":")
