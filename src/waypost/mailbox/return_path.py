"""The envelope sender of what goes to the catch-all: it names tenant and notification, and proves that we wrote it."""

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel import ids

Sign = Callable[[str, bytes], bytes]
"""`TenantKey.sign`: purpose and message to an HMAC."""

_PURPOSE: Final = "sandbox-return-path"
_DOMAIN: Final = "sandbox.invalid"
_ADDRESS: Final = re.compile(
    r"b-(?P<ulid>[0-7][0-9a-hjkmnp-tv-z]{25})-(?P<proof>[0-9a-f]{16})"
    r"@(?P<tenant>[a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.sandbox\.invalid\Z"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReturnPath:
    tenant_id: str
    notification_id: UUID
    proof: str

    def is_genuine(self, sign: Sign) -> bool:
        """Only `is_genuine` makes what was read from an address more than a claim."""
        return hmac.compare_digest(self.proof, _proof(self.tenant_id, self.notification_id, sign))


def make(tenant_id: str, notification_id: UUID, sign: Sign) -> str:
    """`b-<ulid>-<proof>@<tenant>.sandbox.invalid`"""
    ulid = ids.show_ulid(notification_id).lower()
    return f"b-{ulid}-{_proof(tenant_id, notification_id, sign)}@{tenant_id}.{_DOMAIN}"


def read(address: str) -> ReturnPath | None:
    """What an address claims to be, or None where it has not the form. SMTP may have changed the case."""
    found = _ADDRESS.match(address.lower())
    if found is None:
        return None
    notification_id = ids.read("ntf", f"ntf_{found['ulid'].upper()}")
    if notification_id is None:
        return None
    return ReturnPath(tenant_id=found["tenant"], notification_id=notification_id, proof=found["proof"])


def _proof(tenant_id: str, notification_id: UUID, sign: Sign) -> str:
    return sign(_PURPOSE, tenant_id.encode() + b"\n" + notification_id.bytes)[:8].hex()
