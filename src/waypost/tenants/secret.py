"""The text of a key: `wp_test_`, `wp_live_` or `wp_platform_`, 43 random characters and 4 that check them.

The secret has 256 random bits, so a plain SHA-256 keeps it; the check spares the database what was mistyped.
"""

import base64
import hashlib
import hmac
import re
import secrets
from typing import Final

from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vocabulary import TenantMode

_HEADS: Final = {TenantMode.SANDBOX: "wp_test_", TenantMode.LIVE: "wp_live_"}
_PLATFORM_HEAD: Final = "wp_platform_"
_FORM: Final = re.compile(r"(wp_(?:test|live|platform)_[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{4})\Z")


def mint_secret(tenant_id: str, mode: TenantMode) -> str:
    head = _PLATFORM_HEAD if tenant_id == PLATFORM else _HEADS[mode]
    body = head + secrets.token_urlsafe(32)
    return body + _check_of(body)


def looks_right(text: str) -> bool:
    form = _FORM.match(text)
    return form is not None and hmac.compare_digest(_check_of(form[1]), form[2])


def hash_secret(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def hint_of(text: str) -> str:
    """The head and the last four characters, which are only the check."""
    return f"{text[: text.index('_', 3) + 1]}…{text[-4:]}"


def _check_of(body: str) -> str:
    digest = hashlib.sha256(b"check:" + body.encode()).digest()
    return base64.urlsafe_b64encode(digest[:3]).decode()
