"""Signatures as Standard Webhooks has them: `v1,` + base64 of an HMAC-SHA256 over `id.timestamp.body`."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Final

PREFIX: Final = "whsec_"
_BYTES: Final = 32


def mint_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def headers_of(secrets_in_force: Sequence[str], message_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """While a secret is being replaced, both sign."""
    timestamp = int(now.timestamp())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(secret, message_id, timestamp, body) for secret in secrets_in_force),
    }
