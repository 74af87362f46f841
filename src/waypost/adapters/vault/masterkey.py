"""The master key's file: made once, readable by its owner only, never replaced.

Whoever holds it can open every tenant's key; whoever loses it has lost every address and attribute.
"""

import base64
import binascii
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from waypost.kernel.errors import Misconfigured

KEY_BYTES: Final = 32


class MasterKey:
    """32 secret bytes. Its repr shows nothing."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError("A master key has 32 bytes.")
        self._secret = secret

    def derive_bytes(self, purpose: str) -> bytes:
        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=f"waypost/{purpose}".encode()).derive(
            self._secret
        )

    def derive(self, purpose: str) -> str:
        """A lasting secret of its own for one purpose, such as a database role's password: 43 URL-safe characters."""
        return base64.urlsafe_b64encode(self.derive_bytes(f"derived/{purpose}")).decode().rstrip("=")

    def __repr__(self) -> str:
        return "MasterKey(…)"


def open_master_key(path: Path, *, create: bool) -> MasterKey:
    """The key in the file. `create` is for a deployment that has no data yet; a key that is there is never touched."""
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    if not create:
        raise Misconfigured(
            f"The master key {path} is missing. Put it back from where it is kept safe: "
            "without it nothing that was sealed can be opened, and a new key would not help.",
            code="master_key_missing",
        )
    _create(path)
    return _read(path)


def _read(path: Path) -> MasterKey:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(1_000)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Misconfigured(
            f"The master key {path} cannot be read: {error.strerror}.", code="master_key_unreadable"
        ) from error
    if stat.S_IMODE(mode) & 0o077:
        raise Misconfigured(
            f"The master key {path} is open to other users. Run: chmod 600 {path}", code="master_key_exposed"
        )
    try:
        secret = base64.b64decode(text.strip(), validate=True)
        return MasterKey(secret)
    except (binascii.Error, ValueError):
        # Without a cause: the cause's traceback would carry the bytes.
        raise Misconfigured(
            f"The master key {path} is damaged: it must be 32 bytes in base64. Put it back from where it is kept safe.",
            code="master_key_damaged",
        ) from None


def _create(path: Path) -> None:
    """Complete under its name or not there at all; of two processes at once, one makes it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, path)
            except FileExistsError:
                return
            _sync_directory(path.parent)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise Misconfigured(
            f"The master key {path} cannot be written: {error.strerror}.", code="master_key_unwritable"
        ) from error


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
