"""What the catch-all keeps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

MOST_KEPT: Final = 1_000
"""Messages of one tenant; the oldest make room."""

LARGEST_MESSAGE: Final = 25 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """A message as it came over SMTP, from a return path that was found genuine."""

    recipients: tuple[str, ...]
    data: bytes
    notification_id: UUID | None = None
    """What it is a copy of: erasing the recipient takes it along."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MailboxEntry:
    id: UUID
    to: str
    """The addresses it was sent to, with commas between them where there are copies."""
    subject: str
    received_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedLetter:
    """As it is stored: both parts sealed under the tenant's key."""

    id: UUID
    summary: bytes
    raw: bytes
    notification_id: UUID | None = None
