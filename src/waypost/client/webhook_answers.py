"""What the API answers about webhook endpoints and what they were told."""

from datetime import datetime

import msgspec


class NewWebhookSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The secret is shown this once."""

    id: str
    secret: str


class WebhookEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    url: str
    events: tuple[str, ...]
    description: str
    status: str
    version: int
    created_at: datetime
    updated_at: datetime
    disabled_reason: str | None = None
    disabled_at: datetime | None = None
    failing_since: datetime | None = None
    old_secret_until: datetime | None = None


class WebhookAttempt(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    latency_ms: int
    answer: str
    status: int | None = None
    fault: str | None = None


class WebhookDelivery(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    event_id: str
    type: str
    occurred_at: datetime
    status: str
    created_at: datetime
    attempts: tuple[WebhookAttempt, ...]
    next_attempt_at: datetime | None = None


class WebhookReplay(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    status: str
    deliveries: int
    since: datetime = msgspec.field(name="from")
    until: datetime = msgspec.field(name="to")
