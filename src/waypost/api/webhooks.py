"""Webhook endpoints: who is told what has happened, and what became of each call."""

from datetime import timedelta
from typing import Final

from msgspec import UNSET

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import Created, Listing, NoBody, NoQuery, PageQuery
from waypost.api.webhook_shapes import (
    DELIVERY_EXAMPLE,
    ENDPOINT_EXAMPLE,
    REPLAY_EXAMPLE,
    SECRET_EXAMPLE,
    DeliveryQuery,
    NewReplay,
    NewWebhookEndpoint,
    ReplayView,
    SecretRotation,
    WebhookDeliveryView,
    WebhookEndpointChange,
    WebhookEndpointView,
    delivery_view,
    endpoint_view,
    replay_view,
)
from waypost.kernel import ids
from waypost.kernel.durations import read_duration
from waypost.kernel.errors import refuse
from waypost.kernel.tenancy import Permission
from waypost.outbox.endpoints import EndpointChange

_BAD_URL: Final = (
    "invalid_url",
    "url_credentials",
    "url_not_https",
    "url_port",
    "url_private",
    "url_unresolvable",
)
_BAD_FIELDS: Final = (*_BAD_URL, "invalid_description", "too_many", "unknown_event")


@endpoint(
    "POST",
    "/v1/webhook-endpoints",
    Permission.WEBHOOKS_MANAGE,
    summary="Make a webhook endpoint",
    body=NewWebhookEndpoint,
    answer=Created,
    status=201,
    audited=True,
    refusals={409: ["too_many_endpoints"], 422: _BAD_FIELDS},
    body_example={"url": "https://example.com/hooks", "events": ["notification.*"], "description": "Order service"},
    answer_example=SECRET_EXAMPLE,
)
async def create_webhook_endpoint(call: Call[NewWebhookEndpoint, NoQuery]) -> Created:
    """It is told what happens from now on. The secret verifies calls as Standard Webhooks has it, and is shown this
    once."""
    new = call.body
    made = await call.app.webhooks.endpoints.create(
        call.tx, call.scope, url=new.url, events=new.events, description=new.description or ""
    )
    return Created(id=ids.show("whe", made.endpoint.id), secret=made.secret)


@endpoint(
    "GET",
    "/v1/webhook-endpoints",
    Permission.WEBHOOKS_READ,
    summary="List webhook endpoints",
    query=PageQuery,
    answer=Listing[WebhookEndpointView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [ENDPOINT_EXAMPLE], "next": None},
)
async def list_webhook_endpoints(call: Call[NoBody, PageQuery]) -> Listing[WebhookEndpointView]:
    """Newest first."""
    page = await call.app.webhooks.endpoints.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[endpoint_view(one) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/webhook-endpoints/{id}",
    Permission.WEBHOOKS_READ,
    summary="Read a webhook endpoint",
    answer=WebhookEndpointView,
    versioned=True,
    answer_example=ENDPOINT_EXAMPLE,
)
async def read_webhook_endpoint(call: Call[NoBody, NoQuery]) -> Versioned:
    """Also shows since when it fails, and why it was disabled."""
    found = await call.app.webhooks.endpoints.get(call.tx, call.scope, call.id("whe"))
    return Versioned(body=endpoint_view(found), version=found.version)


@endpoint(
    "PATCH",
    "/v1/webhook-endpoints/{id}",
    Permission.WEBHOOKS_MANAGE,
    summary="Change a webhook endpoint",
    body=WebhookEndpointChange,
    answer=WebhookEndpointView,
    versioned=True,
    audited=True,
    refusals={422: _BAD_FIELDS},
    body_example={"events": ["notification.failed", "suppression.*"], "status": "enabled"},
    answer_example=ENDPOINT_EXAMPLE,
)
async def change_webhook_endpoint(call: Call[WebhookEndpointChange, NoQuery]) -> Versioned:
    """Enabling one that was disabled starts afresh: what still waits is sent, and what was missed can be replayed."""
    said = call.body
    change = EndpointChange(
        url=None if said.url is UNSET else said.url,
        events=None if said.events is UNSET else said.events,
        description=None if said.description is UNSET else said.description or "",
        status=None if said.status is UNSET else said.status,
    )
    changed = await call.app.webhooks.endpoints.change(
        call.tx, call.scope, call.id("whe"), change, expected_version=call.expected_version
    )
    return Versioned(body=endpoint_view(changed), version=changed.version)


@endpoint(
    "DELETE",
    "/v1/webhook-endpoints/{id}",
    Permission.WEBHOOKS_MANAGE,
    summary="Remove a webhook endpoint",
    status=204,
    audited=True,
)
async def remove_webhook_endpoint(call: Call[NoBody, NoQuery]) -> None:
    """What waits for it and the log of its deliveries go with it."""
    await call.app.webhooks.endpoints.remove(call.tx, call.scope, call.id("whe"))


@endpoint(
    "POST",
    "/v1/webhook-endpoints/{id}/rotate-secret",
    Permission.WEBHOOKS_MANAGE,
    summary="Give a webhook endpoint a new secret",
    body=SecretRotation,
    answer=Created,
    audited=True,
    refusals={422: ["invalid_duration"]},
    body_example={"overlap": "24h"},
    answer_example=SECRET_EXAMPLE,
)
async def rotate_webhook_secret(call: Call[SecretRotation, NoQuery]) -> Created:
    """The new secret is shown this once. Until the overlap ends calls carry two signatures, one by each secret."""
    overlap = read_duration(call.body.overlap)
    if overlap is None or overlap.elapsed < timedelta(0):
        raise refuse("/overlap", "invalid_duration", "Write a duration as `24h` or `2d`; `0s` for none.")
    made = await call.app.webhooks.endpoints.rotate(call.tx, call.scope, call.id("whe"), overlap=overlap.elapsed)
    return Created(id=ids.show("whe", made.endpoint.id), secret=made.secret)


@endpoint(
    "POST",
    "/v1/webhook-endpoints/{id}/test",
    Permission.WEBHOOKS_MANAGE,
    summary="Send a test event",
    answer=WebhookDeliveryView,
    status=202,
    audited=True,
    refusals={409: ["endpoint_disabled"]},
    answer_example={
        **DELIVERY_EXAMPLE, "type": "webhook_endpoint.test", "status": "waiting", "attempts": [],
        "next_attempt_at": "2026-01-15T12:00:01Z",
    },
)  # fmt: skip
async def test_webhook_endpoint(call: Call[NoBody, NoQuery]) -> WebhookDeliveryView:
    """An event of the type `webhook_endpoint.test`, to this endpoint alone. Its delivery tells how it went."""
    log = await call.app.webhooks.deliveries.test(call.tx, call.scope, call.id("whe"))
    return delivery_view(call.scope, log)


@endpoint(
    "GET",
    "/v1/webhook-endpoints/{id}/deliveries",
    Permission.WEBHOOKS_READ,
    summary="List what a webhook endpoint was told",
    query=DeliveryQuery,
    answer=Listing[WebhookDeliveryView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [DELIVERY_EXAMPLE], "next": None},
)
async def list_webhook_deliveries(call: Call[NoBody, DeliveryQuery]) -> Listing[WebhookDeliveryView]:
    """Newest first, each with every call that was made for it. Kept as long as events are: seven days,
    unless your operator chose otherwise."""
    page = await call.app.webhooks.deliveries.page(
        call.tx, call.scope, call.id("whe"), call.query.cursor, call.query.limit, state=call.query.status
    )
    return Listing(items=[delivery_view(call.scope, log) for log in page.items], next=page.next)


@endpoint(
    "POST",
    "/v1/webhook-endpoints/{id}/deliveries/{delivery_id}/retry",
    Permission.WEBHOOKS_MANAGE,
    summary="Try a delivery again",
    answer=WebhookDeliveryView,
    status=202,
    audited=True,
    refusals={409: ["endpoint_disabled"]},
    answer_example={**DELIVERY_EXAMPLE, "status": "waiting", "next_attempt_at": "2026-01-15T12:10:00Z"},
)
async def retry_webhook_delivery(call: Call[NoBody, NoQuery]) -> WebhookDeliveryView:
    """At once, whatever became of it before."""
    log = await call.app.webhooks.deliveries.retry(call.tx, call.scope, call.id("whe"), call.id("whd", "delivery_id"))
    return delivery_view(call.scope, log)


@endpoint(
    "POST",
    "/v1/webhook-endpoints/{id}/replay",
    Permission.WEBHOOKS_MANAGE,
    summary="Tell a webhook endpoint again",
    body=NewReplay,
    answer=ReplayView,
    status=202,
    audited=True,
    refusals={409: ["endpoint_disabled", "too_many_replays"]},
    body_example={"from": "2026-01-15T10:00:00Z", "to": "2026-01-15T12:00:00Z"},
    answer_example=REPLAY_EXAMPLE,
)
async def replay_webhooks(call: Call[NewReplay, NoQuery]) -> ReplayView:
    """Everything of that time that the endpoint listens to, in the background, with the ids it had the first time."""
    replay = await call.app.webhooks.deliveries.replay(
        call.tx, call.scope, call.id("whe"), since=call.body.since, until=call.body.until
    )
    return replay_view(replay)


@endpoint(
    "GET",
    "/v1/webhook-endpoints/{id}/replays",
    Permission.WEBHOOKS_READ,
    summary="List replays of a webhook endpoint",
    query=PageQuery,
    answer=Listing[ReplayView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [REPLAY_EXAMPLE], "next": None},
)
async def list_webhook_replays(call: Call[NoBody, PageQuery]) -> Listing[ReplayView]:
    """Newest first, with how far they have come."""
    page = await call.app.webhooks.deliveries.replays(
        call.tx, call.scope, call.id("whe"), call.query.cursor, call.query.limit
    )
    return Listing(items=[replay_view(replay) for replay in page.items], next=page.next)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_webhook_endpoint,
    list_webhook_endpoints,
    read_webhook_endpoint,
    change_webhook_endpoint,
    remove_webhook_endpoint,
    rotate_webhook_secret,
    test_webhook_endpoint,
    list_webhook_deliveries,
    retry_webhook_delivery,
    replay_webhooks,
    list_webhook_replays,
)
