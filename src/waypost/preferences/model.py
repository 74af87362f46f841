"""Topics, what a recipient has chosen, what a tenant decides for all, and each word about consent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vocabulary import Category, Channel

ALL_MARKETING: Final = ""
"""Stands where a topic would: an opt-out from, or a consent to, everything that is marketing."""


class ConsentState(StrEnum):
    NONE = "none"
    """Nobody has said anything."""
    PENDING = "pending"
    """A mail asks the person to confirm."""
    GRANTED = "granted"
    WITHDRAWN = "withdrawn"


class ConsentPolicy(StrEnum):
    EXPLICIT = "explicit"
    """Marketing needs consent that was granted."""
    IMPLIED = "implied"
    """Marketing goes out until consent is withdrawn."""


class UnsubscribeGet(StrEnum):
    """What opening an unsubscribe link does."""

    ACT = "act"
    CONFIRM = "confirm"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuietHours:
    """From `start` to `end`, in minutes from local midnight; across it where start is later, never where equal."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{spell_time(self.start)}–{spell_time(self.end)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    key: str
    title: str
    description: str | None
    category: Category
    opted_in: bool
    """What holds for who has chosen nothing."""
    mandatory: bool
    """Nobody can turn it off."""
    position: int
    channels: Mapping[Channel, bool]
    """Where the default of a channel differs."""
    version: int
    created_at: datetime
    updated_at: datetime

    def default_on(self, channel: Channel) -> bool:
        return self.channels.get(channel, self.opted_in)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelChoice:
    """What a recipient has chosen on one channel. What is missing was not chosen."""

    enabled: bool | None = None
    categories: Mapping[Category, bool] = field(default_factory=dict[Category, bool])
    topics: Mapping[str, bool] = field(default_factory=dict[str, bool])
    tracking: bool | None = None
    """False: nobody is to notice what this person opens and clicks."""

    @property
    def is_blank(self) -> bool:
        return self.enabled is None and not self.categories and not self.topics and self.tracking is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """All that a recipient has chosen."""

    channels: Mapping[Channel, ChannelChoice] = field(default_factory=dict[Channel, ChannelChoice])
    quiet_hours: QuietHours | None = None
    version: int = 0
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What a tenant decides for all its recipients."""

    consent_policy: ConsentPolicy = ConsentPolicy.EXPLICIT
    unsubscribe_get: UnsubscribeGet = UnsubscribeGet.ACT
    opt_out_stops_reminders: bool = True
    quiet_hours: QuietHours | None = None
    """For those who have chosen none."""
    timezone: str = "UTC"
    """For those whose own is not known."""
    default_locale: str | None = None
    """The same; without it, each template's own counts."""
    channels: Mapping[Channel, bool] = field(default_factory=dict[Channel, bool])
    """Channels that are off unless a recipient turns them on."""
    tracking: Tracking = UNSAID
    """What is noticed of readers, where neither the call nor the template says so."""


USUAL: Final = Policy()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewConsent:
    channel: Channel
    topic: str
    """A topic's key, or `ALL_MARKETING`."""
    state: ConsentState
    source: str
    """Where it was said: `signup`, `link`, `api:<key>`, …"""
    text_version: str | None = None
    """Which wording the person saw."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Consent:
    """One word about consent, as it stands in the history."""

    n: int
    id: UUID
    channel: Channel
    topic: str
    state: ConsentState
    source: str
    text_version: str | None
    at: datetime
    proof: bytes = field(repr=False)
    """Covers everything above and the proof before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsentHead:
    """Where a history ends."""

    n: int
    proof: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Someone:
    """A recipient, as far as preferences need to know them. Merged ids lead to the one that is left."""

    id: UUID
    external_id: str
    locale: str | None
    timezone: str | None
    erased: bool


def spell_time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
