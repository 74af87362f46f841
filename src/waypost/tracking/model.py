"""What readers do with a message, as far as it is noticed."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final
from uuid import UUID

from waypost.kernel.tracking import Client

MOST_LINKS: Final = 4_095
"""Of one message; further links lead straight to where they lead."""


class Kind(IntEnum):
    """Stored in `tracking_events.kind`, so numbers never change meaning."""

    OPENED = 1
    CLICKED = 2

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One load of a pixel, or one link followed."""

    id: UUID
    notification_id: UUID
    kind: Kind
    at: datetime
    client: Client
    link: int = 0
    """Which link of the message, counted from 1."""
    version_id: UUID | None = None
    """The version that the link was written in; a message of another one is not told of it."""
    target: bytes | None = None
    """Where the link leads, sealed; only where that is the same for everybody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenEntry:
    """The same, read back."""

    id: UUID
    kind: Kind
    at: datetime
    client: Client
    link: int
    target: bytes | None
