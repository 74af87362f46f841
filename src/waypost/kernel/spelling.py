"""Bytes as text that a link can hold: base64url without padding, in exactly one spelling."""

import base64
import binascii
from typing import Final

_FOR_LINKS: Final = bytes.maketrans(b"+/", b"-_")


def spell(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).translate(_FOR_LINKS, b"=").decode()


def unspell(text: str, *, longest: int) -> bytes | None:
    """The bytes of `spell`; None for any other spelling of them, of which base64 has several."""
    if len(text) > longest or not text.isascii():
        return None
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    return raw if spell(raw) == text else None
