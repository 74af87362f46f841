"""What the gate is asked, what it knows, and what it can say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from waypost.delivery.limits import LimitFacts
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.preferences.model import USUAL, ChannelChoice, ConsentState, Policy, QuietHours
from waypost.preferences.rules import TopicFacts
from waypost.suppression.model import OptOut, SuppressionReason

ALLOWED: Final = 1
DEFERRED: Final = 2
_SKIPPED: Final = 100


class SkipReason(StrEnum):
    """The closed list of reasons for which a message is not sent. Appended to, never reordered: codes count from it."""

    TENANT_INACTIVE = "tenant_inactive"
    EXPIRED = "expired"
    NO_ADDRESS = "no_address"
    ADDRESS_REVOKED = "address_revoked"
    RECIPIENT_ERASED = "recipient_erased"
    SUPPRESSED = "suppressed"
    OPTED_OUT = "opted_out"
    THROTTLED = "throttled"
    CHANNEL_OFF = "channel_off"
    CATEGORY_OFF = "category_off"
    TOPIC_OFF = "topic_off"
    NO_CONSENT = "no_consent"
    FREQUENCY_CAP = "frequency_cap"
    HOLDOUT = "holdout"

    @property
    def code(self) -> int:
        return _CODES[self]


_CODES: Final = {reason: _SKIPPED + place for place, reason in enumerate(SkipReason)}


class NoRoom(msgspec.Struct, frozen=True, kw_only=True):
    """No sender account takes the message now."""

    rule: str
    """Why: `sender_limit`, `sender_pace`, `sender_paused`."""
    account: str
    until: datetime


class GateFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the system of record knows about one recipient, address and topic."""

    tenant_active: bool
    erased: bool
    address_status: str | None
    """None: there is no address. In-app needs none: there it is always active."""
    channel: Channel = Channel.EMAIL
    suppressions: tuple[SuppressionReason, ...] = ()
    """Hard ones in force, gravest first."""
    platform_suppressed: bool = False
    opt_outs: tuple[OptOut, ...] = ()
    policy: Policy = USUAL
    topic: TopicFacts | None = None
    choice: ChannelChoice | None = None
    """The recipient's, on this channel."""
    consent: ConsentState = ConsentState.NONE
    """To this topic, or to all marketing, on this channel: the last word."""
    quiet_hours: QuietHours | None = None
    """The recipient's own; else the policy's count."""
    timezone: str | None = None
    limits: LimitFacts | None = None
    """None where the tenant has none, and where it is too early to count."""
    no_room: NoRoom | None = None
    """Known beforehand only to `explain`. A message that is sent asks for room when it has passed all the rest, because
    room that is found is taken."""


class MessageKind(msgspec.Struct, frozen=True):
    """What a message is, as far as its facts depend on it."""

    category: Category
    topic: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Allow:
    code: int = ALLOWED


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    reason: SkipReason
    rule: str
    fact: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def code(self) -> int:
        return self.reason.code


@dataclass(frozen=True, kw_only=True, slots=True)
class Defer:
    until: datetime
    rule: str
    fact: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    code: int = DEFERRED


class Question(msgspec.Struct, frozen=True, kw_only=True):
    facts: GateFacts
    category: Category
    priority: Priority
    expires_at: datetime
    now: datetime


Verdict = Allow | Skip | Defer
Objection = Skip | Defer
