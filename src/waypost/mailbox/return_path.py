"""The envelope sender of every message: it names the notification, and proves that we wrote it (signed VERP).

`b+<ulid>-<proof>@<domain>`, where the domain is the tenant's own return-path domain or the platform's. In the catch-all
it is `<tenant>.sandbox.invalid`, which names the tenant too. Whoever takes mail in elsewhere finds the tenant by the
notification, and asks its key: only `is_genuine` makes what was read from an address more than a claim.
"""

import hmac
import re
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel import ids
from waypost.kernel.vault import TenantKey

PURPOSE: Final = "return-path"
_PROOF_BYTES: Final = 8
_CAUGHT: Final = ".sandbox.invalid"
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]\Z")
_ADDRESS: Final = re.compile(
    r"b\+(?P<ulid>[0-7][0-9a-hjkmnp-tv-z]{25})-(?P<proof>[0-9a-f]{16})@(?P<domain>[a-z0-9.-]{1,253})\Z"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReturnPath:
    """What an address claims to be."""

    notification_id: UUID
    proof: str
    domain: str = ""
    tenant_id: str = ""
    """Empty where the address does not say it: everywhere but in the catch-all."""

    def is_genuine(self, key: TenantKey, tenant_id: str | None = None) -> bool:
        """By the key of the tenant that the address names, or of the one that the notification was found to be of."""
        body = _body(tenant_id or self.tenant_id) + self.notification_id.bytes
        if hmac.compare_digest(self.proof, _shown(key.proves(PURPOSE)(body))):
            return True
        # As it was signed once, for what is still on its way back.
        return hmac.compare_digest(self.proof, _shown(key.sign(PURPOSE, body)))


def make(tenant_id: str, notification_id: UUID, key: TenantKey, domain: str | None = None) -> str:
    """Without a domain, for the catch-all. The local part has 45 of the 64 octets there may be, in lower case: on the
    way it may be folded, and a proof must survive that."""
    return Writer(tenant_id, key, domain)(notification_id)


class Writer:
    """Makes many of one tenant at one domain."""

    __slots__ = ("_end", "_head", "_prove")

    def __init__(self, tenant_id: str, key: TenantKey, domain: str | None = None) -> None:
        self._prove = key.proves(PURPOSE)
        self._head = _body(tenant_id)
        self._end = f"@{domain or tenant_id + _CAUGHT}"

    def __call__(self, notification_id: UUID) -> str:
        proof = _shown(self._prove(self._head + notification_id.bytes))
        return f"b+{ids.show_ulid(notification_id).lower()}-{proof}{self._end}"


def read(address: str) -> ReturnPath | None:
    """What an address claims to be, or None where it has not the form. SMTP may have changed the case."""
    found = _ADDRESS.match(address.lower())
    if found is None:
        return None
    notification_id = ids.read("ntf", f"ntf_{found['ulid'].upper()}")
    if notification_id is None:
        return None
    domain: str = found["domain"]
    tenant_id = domain.removesuffix(_CAUGHT) if domain.endswith(_CAUGHT) else ""
    if domain.endswith(_CAUGHT.removeprefix(".")) and not _TENANT.match(tenant_id):
        return None
    return ReturnPath(notification_id=notification_id, proof=found["proof"], domain=domain, tenant_id=tenant_id)


def verify(address: str, tenant_id: str, key: TenantKey) -> UUID | None:
    """The notification that a bounce to this address is about, where the tenant's key wrote it; None for all else."""
    claimed = read(address)
    return claimed.notification_id if claimed is not None and claimed.is_genuine(key, tenant_id) else None


def _body(tenant_id: str) -> bytes:
    """What is signed begins so."""
    return tenant_id.encode() + b"\n"


def _shown(proof: bytes) -> str:
    return proof[:_PROOF_BYTES].hex()
