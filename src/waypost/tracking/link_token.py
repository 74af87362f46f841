"""The second half of a click's address: where it leads, signed under a key that is good for one version only.

The first half names the message (`Purpose.CLICK`). The key of the links of a version is derived from the tenant's and
may enter the render process: whoever holds it can sign links of that version, as its author can, and nothing else. In
base64url, in one spelling:

    proof (16) · version (16) · place (2, the highest bit set where the address differs from reader to reader) · address
"""

import hmac
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel.mac import Mac
from waypost.kernel.tokens import spell, unspell
from waypost.kernel.vault import TenantKey
from waypost.tracking.model import MOST_LINKS
from waypost.tracking.targets import LONGEST, is_target

_PURPOSE: Final = "tracked-links"
_PROOF_BYTES: Final = 16
_URL_FROM: Final = _PROOF_BYTES + 18
_PERSONAL: Final = 1 << 15
LONGEST_TOKEN: Final = (_URL_FROM + LONGEST) * 4 // 3 + 3


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkClaim:
    """What a text says it is. Nothing of it is to be believed before `is_genuine`."""

    version_id: UUID
    link: int
    is_personal: bool
    url: str
    raw: bytes

    def is_genuine(self, link_key: bytes) -> bool:
        return hmac.compare_digest(self.raw[:_PROOF_BYTES], _proof(link_key, self.raw[_PROOF_BYTES:]))


def link_key_of(key: TenantKey, version_id: UUID) -> bytes:
    return key.sign(_PURPOSE, version_id.bytes)


class LinkPen:
    """Writes the links of one version."""

    __slots__ = ("_mac", "_version")

    def __init__(self, link_key: bytes, version: bytes) -> None:
        self._mac = Mac(link_key)
        self._version = version

    def write(self, link: int, url: str, *, is_personal: bool) -> str:
        """`url` as `target_of` gives it."""
        body = self._version + (link | _PERSONAL if is_personal else link).to_bytes(2, "big") + url.encode("ascii")
        return spell(self._mac(body)[:_PROOF_BYTES] + body)


def write_link(link_key: bytes, version: bytes, link: int, url: str, *, is_personal: bool) -> str:
    return LinkPen(link_key, version).write(link, url, is_personal=is_personal)


def read_link(text: str) -> LinkClaim | None:
    """What the text claims; None where it is no link at all, or leads nowhere that a link may lead."""
    raw = unspell(text, longest=LONGEST_TOKEN)
    if raw is None or len(raw) <= _URL_FROM:
        return None
    place, address = int.from_bytes(raw[_URL_FROM - 2 : _URL_FROM], "big"), raw[_URL_FROM:]
    url = address.decode("latin-1")
    link = place & ~_PERSONAL
    if not 1 <= link <= MOST_LINKS or not address.isascii() or not is_target(url):
        return None
    version_id = UUID(bytes=raw[_PROOF_BYTES : _URL_FROM - 2])
    return LinkClaim(version_id=version_id, link=link, is_personal=bool(place & _PERSONAL), url=url, raw=raw)


def _proof(link_key: bytes, body: bytes) -> bytes:
    return hmac.digest(link_key, body, "sha256")[:_PROOF_BYTES]
