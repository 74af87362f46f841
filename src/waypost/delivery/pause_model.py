"""Pauses: what must not go out for now."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class PauseScope(StrEnum):
    TENANT = "tenant"
    CHANNEL = "channel"
    ACCOUNT = "account"
    BROADCAST = "broadcast"
    CATEGORY = "category"

    @property
    def stops_lanes(self) -> bool:
        """The claim passes its lanes over. The others hold single rows."""
        return self in (PauseScope.TENANT, PauseScope.CHANNEL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    id: UUID
    scope: PauseScope
    subject: str
    """Empty for the tenant; the number of a channel or category; the hex of an account's or a batch's id."""
    reason: str
    by_platform: bool
    """Only the platform can end it."""
    created_at: datetime
    created_by: str
    is_settling: bool
    """Rows are still being put aside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseMark:
    """A pause in force, as workers know it."""

    tenant_id: str
    scope: PauseScope
    subject: str
