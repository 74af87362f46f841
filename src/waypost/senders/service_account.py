"""The key file of a Google service account, as far as it can be read without any cryptography."""

import re
from binascii import a2b_base64
from dataclasses import dataclass, field
from typing import Final

import msgspec

_PEM: Final = re.compile(r"\s*-----BEGIN PRIVATE KEY-----\s([A-Za-z0-9+/=\s]{200,8192})-----END PRIVATE KEY-----\s*\Z")
_EMAIL: Final = re.compile(r"[!-?A-~]{1,64}@[A-Za-z0-9.-]{1,253}\Z")
_KEY_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,100}\Z")


class ServiceAccountUnreadable(Exception):
    """It is no key file. `remedy` says what to do and repeats nothing of it."""

    def __init__(self, remedy: str) -> None:
        super().__init__(remedy)
        self.remedy = remedy


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceAccount:
    email: str
    key_id: str
    """Empty where the file names none."""
    private_key: str = field(repr=False)
    """PEM of PKCS #8."""


class _KeyFile(msgspec.Struct):
    type: str = ""
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""


def read_service_account(text: str) -> ServiceAccount:
    """Where the file says tokens come from is not read: that is the operator's to say. Raises
    `ServiceAccountUnreadable`."""
    try:
        file = msgspec.json.decode(text, type=_KeyFile)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ServiceAccountUnreadable("This is not the JSON of a service account's key file.") from None
    if file.type != "service_account":
        raise ServiceAccountUnreadable("The key file must be of a service account: its `type` is `service_account`.")
    if not _EMAIL.match(file.client_email):
        raise ServiceAccountUnreadable("The key file has no usable `client_email`.")
    if file.private_key_id and not _KEY_ID.match(file.private_key_id):
        raise ServiceAccountUnreadable("The key file's `private_key_id` cannot be used.")
    if not _holds_key(file.private_key):
        raise ServiceAccountUnreadable(
            "The key file's `private_key` is not whole: it begins with BEGIN PRIVATE KEY and ends with END PRIVATE KEY."
        )
    return ServiceAccount(email=file.client_email, key_id=file.private_key_id, private_key=file.private_key)


def _holds_key(pem: str) -> bool:
    found = _PEM.match(pem)
    if found is None:
        return False
    try:
        return len(a2b_base64("".join(found[1].split()), strict_mode=True)) > 0
    except ValueError:
        return False
