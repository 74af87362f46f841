"""AUTH PLAIN and LOGIN: the password is an API key, the user name is anybody's."""

import base64
import binascii

ASK_USER = "334 VXNlcm5hbWU6"
ASK_PASSWORD = "334 UGFzc3dvcmQ6"  # noqa: S105 — "Password:" in base64


def plain_password(response: str) -> str | None:
    """From `authorization NUL user NUL password`; None where it is something else."""
    decoded = unwrap(response)
    parts = decoded.split("\0") if decoded is not None else []
    return parts[2] if len(parts) == 3 and parts[2] else None


def unwrap(response: str) -> str | None:
    try:
        return base64.b64decode(response, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
