"""The paper one gets for an erasure: what was destroyed, when and by whom, signed with the tenant's key."""

import hmac
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final

import msgspec

from waypost.kernel.vault import TenantKey

_PURPOSE: Final = "erasure-certificate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    id: str
    tenant: str
    subject: str
    """The keyed hash of the id that the caller used: it proves who was meant without telling."""
    recipient: str
    erased_at: str
    erased_by: str
    request_id: str
    destroyed_keys: tuple[str, ...]
    """SHA-256 of each data key, wrapped as it was stored."""
    destroyed: Mapping[str, int]
    """What went, by name and number."""
    kept: tuple[str, ...]
    signature: str = ""


def sign(certificate: Certificate, key: TenantKey) -> Certificate:
    return replace(certificate, signature=_signature(certificate, key))


def is_genuine(certificate: Certificate, key: TenantKey) -> bool:
    return hmac.compare_digest(certificate.signature.encode(), _signature(certificate, key).encode())


def write(certificate: Certificate) -> str:
    return msgspec.json.encode(asdict(certificate), order="sorted").decode()


def read(text: str) -> Certificate:
    return msgspec.json.decode(text, type=Certificate)


def _signature(certificate: Certificate, key: TenantKey) -> str:
    """Over the whole statement in one spelling: sorted keys, no spaces, no signature."""
    return key.sign(_PURPOSE, write(replace(certificate, signature="")).encode()).hex()
