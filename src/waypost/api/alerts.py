"""Alerts: what needs a person, and who is told."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from waypost.alerts.model import Alert, AlertKind, Target, TargetKind, TargetStatus
from waypost.alerts.rules import summary
from waypost.alerts.targets import TargetChange
from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import JsonMap, Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission

_BAD_URL: Final = ("invalid_url", "url_credentials", "url_not_https", "url_port", "url_private", "url_unresolvable")
Kinds = Annotated[list[AlertKind], Meta(max_length=20, description="Which alerts it is told; empty for all.")]
Description = Annotated[str, Meta(description="For people; at most 500 characters.")]


class AlertQuery(PageQuery):
    open: Annotated[bool, Meta(description="Only open ones, or only closed ones.")] | None = None
    kind: AlertKind | None = None


class AlertView(Shape):
    id: str
    kind: AlertKind
    subject: str
    summary: Annotated[str, Meta(description="One sentence for people.")]
    facts: Annotated[JsonMap, Meta(description="Numbers and short words. Never an address or a secret.")]
    opened_at: Moment
    seen_at: Annotated[Moment, Meta(description="When it was last found to be so.")]
    closed_at: Moment | None
    told: Annotated[int, Meta(description="How often targets were told.")]


class NewAlertTarget(Shape):
    email: Annotated[str, Meta(max_length=320, examples=["ops@example.com"])] | None = None
    url: Annotated[str, Meta(description="https, public, without credentials.")] | None = None
    kinds: Kinds | None = None
    description: Description | None = None


class AlertTargetChange(Shape):
    """What is left out stays as it is; null takes the description away."""

    kinds: Kinds | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    status: TargetStatus | UnsetType = UNSET


class AlertTargetView(Shape):
    id: str
    kind: TargetKind
    target: Annotated[str, Meta(description="The URL; an email address is shown masked.")]
    kinds: list[AlertKind]
    description: str
    status: TargetStatus
    last_told_at: Moment | None
    last_fault: Annotated[str, Meta(description="Why the last telling failed, in a word.")] | None
    version: int
    created_at: Moment
    updated_at: Moment


class CreatedTarget(Shape):
    id: str
    secret: Annotated[str, Meta(description="Of a webhook: verifies calls, shown this once.")] | None


def alert_view(alert: Alert) -> AlertView:
    return AlertView(
        id=ids.show("alr", alert.id),
        kind=alert.kind,
        subject=alert.subject,
        summary=summary(alert),
        facts=dict(alert.facts),
        opened_at=alert.opened_at,
        seen_at=alert.seen_at,
        closed_at=alert.closed_at,
        told=alert.told,
    )


def target_view(target: Target) -> AlertTargetView:
    return AlertTargetView(
        id=ids.show("alt", target.id),
        kind=target.kind,
        target=target.shown,
        kinds=list(target.kinds),
        description=target.description,
        status=target.status,
        last_told_at=target.last_told_at,
        last_fault=target.last_fault,
        version=target.version,
        created_at=target.created_at,
        updated_at=target.updated_at,
    )


_ALERT: Final[dict[str, object]] = {
    "id": "alr_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "kind": "queue_stalled",
    "subject": "email",
    "summary": "Messages wait on email: the oldest has been due for too long.",
    "facts": {"oldest_seconds": 900, "workers_alive": 0},
    "opened_at": "2026-01-15T12:00:00Z",
    "seen_at": "2026-01-15T12:05:00Z",
    "closed_at": None,
    "told": 1,
}
_TARGET: Final[dict[str, object]] = {
    "id": "alt_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "kind": "email",
    "target": "o***@example.com",
    "kinds": [],
    "description": "On call",
    "status": "enabled",
    "last_told_at": "2026-01-15T12:00:00Z",
    "last_fault": None,
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}


@endpoint(
    "GET",
    "/v1/alerts",
    Permission.OPERATIONS_READ,
    summary="List alerts",
    query=AlertQuery,
    answer=Listing[AlertView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_ALERT], "next": None},
)
async def list_alerts(call: Call[NoBody, AlertQuery]) -> Listing[AlertView]:
    """Newest first. An alert opens once, is told again every few hours while it is open, and closes itself."""
    query = call.query
    page = await call.app.alerts.alerts.page(
        call.tx, call.scope, query.cursor, query.limit, is_open=query.open, kind=query.kind
    )
    return Listing(items=[alert_view(alert) for alert in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/alerts/{id}",
    Permission.OPERATIONS_READ,
    summary="Read an alert",
    answer=AlertView,
    answer_example=_ALERT,
)
async def read_alert(call: Call[NoBody, NoQuery]) -> AlertView:
    """What it is about, since when, and whether it still is so."""
    return alert_view(await call.app.alerts.alerts.get(call.tx, call.scope, call.id("alr")))


@endpoint(
    "POST",
    "/v1/alert-targets",
    Permission.OPERATIONS_WRITE,
    summary="Make an alert target",
    body=NewAlertTarget,
    answer=CreatedTarget,
    status=201,
    audited=True,
    refusals={
        409: ["too_many_targets"],
        422: ["one_target_only", "invalid_address", "invalid_description", *_BAD_URL],
    },
    body_example={"email": "ops@example.com", "kinds": ["queue_stalled"], "description": "On call"},
    answer_example={"id": "alt_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q", "secret": None},
)
async def create_alert_target(call: Call[NewAlertTarget, NoQuery]) -> CreatedTarget:
    """An email address is written to on the ordinary road; a URL is called, signed as Standard Webhooks has it. With a
    platform key: who hears of what concerns the whole installation."""
    new = call.body
    made = await call.app.alerts.targets.create(
        call.tx, call.scope, email=new.email, url=new.url, kinds=new.kinds or [], description=new.description or ""
    )
    return CreatedTarget(id=ids.show("alt", made.target.id), secret=made.secret)


@endpoint(
    "GET",
    "/v1/alert-targets",
    Permission.OPERATIONS_READ,
    summary="List alert targets",
    query=PageQuery,
    answer=Listing[AlertTargetView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_TARGET], "next": None},
)
async def list_alert_targets(call: Call[NoBody, PageQuery]) -> Listing[AlertTargetView]:
    """Newest first."""
    page = await call.app.alerts.targets.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[target_view(target) for target in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/alert-targets/{id}",
    Permission.OPERATIONS_READ,
    summary="Read an alert target",
    answer=AlertTargetView,
    versioned=True,
    answer_example=_TARGET,
)
async def read_alert_target(call: Call[NoBody, NoQuery]) -> Versioned:
    """Also when it was last told something, and what went wrong."""
    found = await call.app.alerts.targets.get(call.tx, call.scope, call.id("alt"))
    return Versioned(body=target_view(found), version=found.version)


@endpoint(
    "PATCH",
    "/v1/alert-targets/{id}",
    Permission.OPERATIONS_WRITE,
    summary="Change an alert target",
    body=AlertTargetChange,
    answer=AlertTargetView,
    versioned=True,
    audited=True,
    refusals={422: ["invalid_description"]},
    body_example={"status": "disabled"},
    answer_example={**_TARGET, "status": "disabled"},
)
async def change_alert_target(call: Call[AlertTargetChange, NoQuery]) -> Versioned:
    """What it hears, what it is called, and whether it is told anything at all. For another address, make another."""
    said = call.body
    change = TargetChange(
        kinds=None if said.kinds is UNSET else said.kinds,
        description=None if said.description is UNSET else said.description or "",
        status=None if said.status is UNSET else said.status,
    )
    changed = await call.app.alerts.targets.change(
        call.tx, call.scope, call.id("alt"), change, expected_version=call.expected_version
    )
    return Versioned(body=target_view(changed), version=changed.version)


@endpoint(
    "DELETE",
    "/v1/alert-targets/{id}",
    Permission.OPERATIONS_WRITE,
    summary="Remove an alert target",
    status=204,
    audited=True,
)
async def remove_alert_target(call: Call[NoBody, NoQuery]) -> None:
    """It is told nothing any more."""
    await call.app.alerts.targets.remove(call.tx, call.scope, call.id("alt"))


@endpoint(
    "POST",
    "/v1/alert-targets/{id}/test",
    Permission.OPERATIONS_WRITE,
    summary="Tell an alert target something harmless",
    answer=AlertTargetView,
    status=202,
    audited=True,
    refusals={409: ["target_disabled"]},
    answer_example=_TARGET,
)
async def test_alert_target(call: Call[NoBody, NoQuery]) -> AlertTargetView:
    """Within seconds. `last_told_at` and `last_fault` of the target then say how it went."""
    return target_view(await call.app.alerts.targets.test(call.tx, call.scope, call.id("alt")))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    list_alerts,
    read_alert,
    create_alert_target,
    list_alert_targets,
    read_alert_target,
    change_alert_target,
    remove_alert_target,
    test_alert_target,
)
