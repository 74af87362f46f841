"""What requests and answers about webhooks look like."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType, field

from waypost.api.shapes import Moment, PageQuery, Shape
from waypost.kernel import ids
from waypost.kernel.tenancy import Scope
from waypost.outbox.catalogue import CATALOGUE
from waypost.outbox.describe import event_id
from waypost.outbox.webhook_model import (
    DeliveryLog,
    DeliveryState,
    DisabledReason,
    Endpoint,
    EndpointStatus,
    Replay,
)

Url = Annotated[str, Meta(description="https, public, without credentials.", examples=["https://example.com/hooks"])]
Events = Annotated[
    list[str], Meta(description="Types of events: `notification.dispatched`, `notification.*`, or `*` for all.")
]
Description = Annotated[str, Meta(description="For people; at most 500 characters.")]


class NewWebhookEndpoint(Shape):
    url: Url
    events: Events
    description: Description | None = None


class WebhookEndpointChange(Shape):
    """What is left out stays as it is; null takes the description away."""

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    status: EndpointStatus | UnsetType = UNSET


class WebhookEndpointView(Shape):
    id: str
    url: str
    events: list[str]
    description: str
    status: EndpointStatus
    disabled_reason: DisabledReason | None
    disabled_at: Moment | None
    failing_since: Annotated[Moment, Meta(description="Set while nothing gets through.")] | None
    old_secret_until: Annotated[Moment, Meta(description="Until then the secret before this one signs too.")] | None
    version: int
    created_at: Moment
    updated_at: Moment


class SecretRotation(Shape):
    overlap: Annotated[str, Meta(description="How long the old secret signs too, at most 7d.", examples=["24h"])] = (
        "24h"
    )


class DeliveryQuery(PageQuery):
    status: DeliveryState | None = None


class WebhookAttemptView(Shape):
    at: Moment
    status: Annotated[int, Meta(description="What it answered; null where there was no answer.")] | None
    fault: Annotated[str, Meta(description="Why there was none: `timeout`, `private_address`, …")] | None
    latency_ms: int
    answer: Annotated[str, Meta(description="The head of what it said, cleaned.")]


class WebhookDeliveryView(Shape):
    id: str
    event_id: Annotated[str, Meta(description="As in the header `webhook-id`; the same over retries and replays.")]
    type: str
    occurred_at: Moment
    status: DeliveryState
    created_at: Moment
    next_attempt_at: Annotated[Moment, Meta(description="While it waits.")] | None
    attempts: list[WebhookAttemptView]


class NewReplay(Shape):
    since: Annotated[
        Moment,
        Meta(description="At most as many days ago as your operator keeps events: seven, unless they chose otherwise."),
    ] = field(name="from")
    until: Annotated[Moment, Meta(description="Now, where it is left out.")] | None = field(name="to", default=None)


class ReplayView(Shape):
    id: str
    since: Moment = field(name="from")
    until: Moment = field(name="to")
    status: Annotated[str, Meta(extra_json_schema={"enum": ["running", "done"]})]
    deliveries: Annotated[int, Meta(description="How many it has brought about so far.")]


ENDPOINT_EXAMPLE: Final = {
    "id": "whe_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "url": "https://example.com/hooks",
    "events": ["notification.*"],
    "description": "Order service",
    "status": "enabled",
    "disabled_reason": None,
    "disabled_at": None,
    "failing_since": None,
    "old_secret_until": None,
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}
SECRET_EXAMPLE: Final = {
    "id": "whe_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
}
DELIVERY_EXAMPLE: Final = {
    "id": "whd_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "event_id": "evt_01KF0M7Q8Z6Y5X4W3V2T1S0R9P",
    "type": "notification.dispatched",
    "occurred_at": "2026-01-15T12:00:00Z",
    "status": "delivered",
    "created_at": "2026-01-15T12:00:01Z",
    "next_attempt_at": None,
    "attempts": [{"at": "2026-01-15T12:00:01Z", "status": 200, "fault": None, "latency_ms": 42, "answer": "ok"}],
}
REPLAY_EXAMPLE: Final = {
    "id": "whr_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "from": "2026-01-15T10:00:00Z",
    "to": "2026-01-15T12:00:00Z",
    "status": "running",
    "deliveries": 0,
}


def endpoint_view(endpoint: Endpoint) -> WebhookEndpointView:
    return WebhookEndpointView(
        id=ids.show("whe", endpoint.id),
        url=endpoint.url,
        events=list(endpoint.events),
        description=endpoint.description,
        status=endpoint.status,
        disabled_reason=endpoint.disabled_reason,
        disabled_at=endpoint.disabled_at,
        failing_since=endpoint.failing_since,
        old_secret_until=endpoint.old_secret_until,
        version=endpoint.version,
        created_at=endpoint.created_at,
        updated_at=endpoint.updated_at,
    )


def delivery_view(scope: Scope, log: DeliveryLog) -> WebhookDeliveryView:
    delivery = log.delivery
    entry = CATALOGUE.get(delivery.told.kind)
    return WebhookDeliveryView(
        id=ids.show("whd", delivery.id),
        event_id=event_id(scope.tenant_id, delivery.told),
        type=entry.name if entry else "unknown",
        occurred_at=delivery.told.at,
        status=delivery.state,
        created_at=delivery.created_at,
        next_attempt_at=delivery.due if delivery.state is DeliveryState.WAITING else None,
        attempts=[
            WebhookAttemptView(
                at=one.at, status=one.status, fault=one.fault, latency_ms=one.latency_ms, answer=one.answer
            )
            for one in log.attempts
        ],
    )


def replay_view(replay: Replay) -> ReplayView:
    return ReplayView(
        id=ids.show("whr", replay.id),
        since=replay.since,
        until=replay.until,
        status="done" if replay.done else "running",
        deliveries=replay.added,
    )
