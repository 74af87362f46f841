"""What the API answers about topics, preferences, consent and the gate."""

from collections.abc import Mapping
from datetime import datetime

import msgspec


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    title: str
    category: str
    default: str
    version: int
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    mandatory: bool = False
    order: int = 0
    channels: Mapping[str, str] = {}


class QuietHours(msgspec.Struct, frozen=True, kw_only=True):
    start: str
    end: str


class ChannelChoice(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool | None = None
    categories: Mapping[str, bool] = {}
    topics: Mapping[str, bool] = {}
    tracking: bool | None = None


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    quiet_hours: QuietHours | None = None
    channels: Mapping[str, ChannelChoice] = {}
    updated_at: datetime | None = None


class TenantSettings(msgspec.Struct, frozen=True, kw_only=True):
    consent_policy: str
    unsubscribe_get: str
    opt_out_stops_reminders: bool
    timezone: str
    quiet_hours: QuietHours | None = None
    channels: Mapping[str, bool] = {}
    tracking: Mapping[str, bool | None] = {}


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    n: int
    channel: str
    state: str
    source: str
    at: datetime
    proof: str
    topic: str | None = None
    text_version: str | None = None


class ConsentCheck(msgspec.Struct, frozen=True, kw_only=True):
    intact: bool
    rows: int
    first_fault: int | None = None


class ExplainStep(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    verdict: str
    fact: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    verdict: str
    channel: str
    category: str
    at: datetime
    steps: tuple[ExplainStep, ...]
    reason: str | None = None
    until: datetime | None = None
    topic: str | None = None
    note: str | None = None


class SuppressionImport(msgspec.Struct, frozen=True, kw_only=True):
    taken: int
    refused: int
    faults: tuple[Mapping[str, str | int], ...] = ()
    ignored_columns: tuple[str, ...] = ()


class Rate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    minute: int | None = None
    day: int | None = None


class MarketingCap(msgspec.Struct, frozen=True, kw_only=True):
    max: int
    per: str


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    tenant: Rate | None = None
    channels: dict[str, Rate] = {}
    recipient: Rate | None = None
    marketing_cap: MarketingCap | None = None
