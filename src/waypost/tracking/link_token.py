"""The second half of a click's address: where it leads, signed under a key that is good for one version only.

The first half names the message (`Purpose.MESSAGE`). The key of the links of a version is derived from the tenant's and
may enter the render process: whoever holds it can sign links of that version, as its author can, and nothing else. In
base64url, in one spelling:

    proof (16) · version (16) · place (2, the highest bit set where the address differs from reader to reader) · address

An address that differs by words only is a pattern with its words after it (`link_pattern`).
"""

import hmac
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel.mac import Mac
from waypost.kernel.spelling import spell, unspell
from waypost.kernel.vault import TenantKey
from waypost.tracking.link_pattern import SET_BYTES, are_genuine, filled, is_pattern, read_words
from waypost.tracking.model import MOST_LINKS
from waypost.tracking.targets import LONGEST, is_target

BETWEEN: Final = "."
"""Between the parts of a click's address. No part holds one."""
_PURPOSE: Final = "tracked-links"
_PROOF_BYTES: Final = 16
_URL_FROM: Final = _PROOF_BYTES + 18
_PERSONAL: Final = 1 << 15
_PATTERN: Final = 1 << 14
LONGEST_TOKEN: Final = (_URL_FROM + LONGEST) * 4 // 3 + 3


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkClaim:
    """What a text says it is. Nothing of it is to be believed before `is_genuine`."""

    version_id: UUID
    link: int
    is_personal: bool
    url: str
    raw: bytes
    words: bytes | None = None
    """Where the address is a pattern."""

    def is_genuine(self, link_key: bytes) -> bool:
        proved = hmac.compare_digest(self.raw[:_PROOF_BYTES], _proof(link_key, self.raw[_PROOF_BYTES:]))
        if self.words is None:
            return proved
        return proved and are_genuine(self.words, link_key, self.raw[_URL_FROM : _URL_FROM + SET_BYTES])


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
        return self._signed(link | _PERSONAL if is_personal else link, url.encode("ascii"))

    def write_pattern(self, link: int, pattern: str, of_set: bytes) -> str:
        """As `is_pattern` has it."""
        return self._signed(link | _PERSONAL | _PATTERN, of_set + pattern.encode("ascii"))

    def _signed(self, place: int, rest: bytes) -> str:
        body = self._version + place.to_bytes(2, "big") + rest
        return spell(self._mac(body)[:_PROOF_BYTES] + body)


def write_link(link_key: bytes, version: bytes, link: int, url: str, *, is_personal: bool) -> str:
    return LinkPen(link_key, version).write(link, url, is_personal=is_personal)


def read_link(text: str) -> LinkClaim | None:
    """What the text claims; None where it is no link at all, or leads nowhere that a link may lead."""
    link, has_words, words = text.partition(BETWEEN)
    raw = unspell(link, longest=LONGEST_TOKEN)
    if raw is None or len(raw) <= _URL_FROM:
        return None
    place = int.from_bytes(raw[_URL_FROM - 2 : _URL_FROM], "big")
    number, is_personal = place & ~(_PERSONAL | _PATTERN), bool(place & _PERSONAL)
    if bool(has_words) != bool(place & _PATTERN) or not 1 <= number <= MOST_LINKS:
        return None
    version_id = UUID(bytes=raw[_PROOF_BYTES : _URL_FROM - 2])
    known = _filled(raw[_URL_FROM:], words) if has_words else (_url(raw[_URL_FROM:]), None)
    if known is None or not known[0].isascii() or not is_target(known[0]):
        return None
    return LinkClaim(version_id=version_id, link=number, is_personal=is_personal, url=known[0], raw=raw, words=known[1])


def _filled(rest: bytes, words: str) -> tuple[str, bytes] | None:
    pattern, said = _url(rest[SET_BYTES:]), read_words(words)
    if said is None or not is_pattern(pattern):
        return None
    url = filled(pattern, said[1])
    return None if url is None else (url, said[0])


def _url(address: bytes) -> str:
    return address.decode("latin-1")


def _proof(link_key: bytes, body: bytes) -> bytes:
    return hmac.digest(link_key, body, "sha256")[:_PROOF_BYTES]
