"""Where a tracked link may lead: a plain address of the web, in the one spelling that a header can carry.

Asked when a link is signed, and once more before anybody is sent there. What is odd is not tracked and stays as it was:
other schemes, users and passwords in the address, backslashes, control characters, hosts that are not ASCII.
"""

import re
from typing import Final

LONGEST: Final = 2_048
_SPACE: Final = " \t\n\r\f"
_HOST: Final = r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
_TARGET: Final = re.compile(rf"https?://{_HOST}(?:[/?#][!#-;=?-\[\]_a-z~]*)?\Z", re.IGNORECASE)
# What browsers encode by themselves before they ask.
_BARE: Final = re.compile(r"[ \"<>^`{|}\x80-\U0010ffff]+")
_REST: Final = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


def target_of(text: str) -> str | None:
    """The address, or None where it is none that may be tracked."""
    text = text.strip(_SPACE)
    if _TARGET.match(text) is None:
        start = _REST.match(text)
        if start is None:
            return None
        try:
            text = text[: start.end()] + _BARE.sub(_encoded, text[start.end() :])
        except UnicodeEncodeError:
            return None
        if _TARGET.match(text) is None:
            return None
    return text if len(text) <= LONGEST else None


def is_target(text: str) -> bool:
    """Is it an address in just the spelling that `target_of` gives?"""
    return len(text) <= LONGEST and _TARGET.match(text) is not None


def _encoded(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
