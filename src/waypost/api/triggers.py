"""The trigger map: what an event starts."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.notification_shapes import RoutingWord
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    JsonMap,
    Listing,
    Moment,
    NoBody,
    NoQuery,
    PageQuery,
    PriorityWord,
    Shape,
)
from waypost.api.tracking_shapes import TrackingShape
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission
from waypost.triggers.model import Trigger, TriggerSpec

_Text = Annotated[str, Meta(min_length=1, max_length=200)]
_Path = Annotated[
    str, Meta(min_length=1, max_length=200, description="A path into the event.", examples=["$.data.guest"])
]
_Span = Annotated[str, Meta(min_length=1, max_length=40, description="A duration.", examples=["-2d", "10m"])]


class DigestShape(Shape):
    """Collect events per recipient and key into one message. The window opens with the first."""

    window: _Span
    key: _Path | None = None


class ThrottleShape(Shape):
    """At most `max` messages per recipient (and key) in any window of that length."""

    max: Annotated[int, Meta(ge=1, le=100)]
    per: _Span
    key: _Path | None = None


class NewTrigger(Shape):
    """Either a `template` to send, or what the event `reschedules` or `cancels`, or both."""

    event_type: Annotated[str, Meta(min_length=1, max_length=128, examples=["booking.created"])]
    key: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=300,
                description="Its name. A tenant's trigger stands in for the platform's of the same key.",
            ),
        ]
        | None
    ) = None
    template: Annotated[_Text, Meta(description="The key of a published template.")] | None = None
    channel: ChannelWord | None = None
    channels: Annotated[list[ChannelWord], Meta(min_length=1, max_length=7)] | None = None
    routing: RoutingWord | None = None
    after: Annotated[_Span, Meta(description="With `until_seen`: how long to wait for each channel.")] | None = None
    category: CategoryWord | None = None
    priority: PriorityWord = "normal"
    recipient: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description="A path into the event, `primary` (which is `$.data.recipient`), `tenant_admins`, "
                "`role:<role>` or `tag:<tag>`.",
            ),
        ]
        | None
    ) = None
    variables: (
        Annotated[
            JsonMap,
            Meta(
                description="What the template may read: texts that are paths are looked up in the event, anything "
                "else is taken as it is. Left out: the event's `data`."
            ),
        ]
        | None
    ) = None
    anchor: (
        Annotated[_Path, Meta(description="A time, a local time or a date in the event. Left out: when it happened.")]
        | None
    ) = None
    offset: Annotated[_Span, Meta(description="So long after the anchor, or before it with a `-`.")] | None = None
    at: Annotated[str, Meta(description="The time of day at which it goes.", examples=["09:00"])] | None = None
    timezone: (
        Annotated[
            str, Meta(max_length=64, description="Of local times and calendar days; the tenant's where left out.")
        ]
        | None
    ) = None
    grace: Annotated[_Span, Meta(description="How late it may still be sent; 6h where left out.")] | None = None
    subject_key: (
        Annotated[_Path, Meta(description="What it is about, so that other events can move or cancel it.")] | None
    ) = None
    digest: DigestShape | None = None
    throttle: ThrottleShape | None = None
    tracking: TrackingShape | None = None
    refire: Annotated[bool, Meta(description="Fires again when it is moved after it has fired.")] = False
    reschedules: Annotated[_Path, Meta(description="The subject whose timers get a new time.")] | None = None
    cancels: Annotated[_Path, Meta(description="The subject whose timers are dropped.")] | None = None
    enabled: bool = True


class TriggerChange(Shape):
    """Only what is given changes; null takes a field away."""

    event_type: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    key: Annotated[str, Meta(min_length=1, max_length=300)] | UnsetType = UNSET
    template: _Text | UnsetType | None = UNSET
    channel: ChannelWord | UnsetType | None = UNSET
    channels: Annotated[list[ChannelWord], Meta(min_length=1, max_length=7)] | UnsetType | None = UNSET
    routing: RoutingWord | UnsetType | None = UNSET
    after: _Span | UnsetType | None = UNSET
    category: CategoryWord | UnsetType | None = UNSET
    priority: PriorityWord | UnsetType = UNSET
    recipient: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType | None = UNSET
    variables: JsonMap | UnsetType | None = UNSET
    anchor: _Path | UnsetType | None = UNSET
    offset: _Span | UnsetType | None = UNSET
    at: str | UnsetType | None = UNSET
    timezone: Annotated[str, Meta(max_length=64)] | UnsetType | None = UNSET
    grace: _Span | UnsetType | None = UNSET
    subject_key: _Path | UnsetType | None = UNSET
    digest: DigestShape | UnsetType | None = UNSET
    throttle: ThrottleShape | UnsetType | None = UNSET
    tracking: TrackingShape | UnsetType | None = UNSET
    refire: bool | UnsetType = UNSET
    reschedules: _Path | UnsetType | None = UNSET
    cancels: _Path | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET


class TriggerView(NewTrigger, kw_only=True):
    id: str
    scope: Annotated[str, Meta(extra_json_schema={"enum": ["tenant", "platform"]})]
    overridden: Annotated[bool, Meta(description="Of the platform's: a trigger of this tenant stands in for it.")]
    version: int
    created_at: Moment
    updated_at: Moment


class TriggerQuery(PageQuery):
    event_type: Annotated[str, Meta(max_length=128)] | None = None


_NEW: Final = {
    "event_type": "booking.created",
    "channel": "email",
    "template": "reminder",
    "category": "reminder",
    "recipient": "$.data.guest",
    "anchor": "$.data.stay_start",
    "offset": "-2d",
    "subject_key": "$.data.booking_id",
    "throttle": {"max": 1, "per": "1h"},
}
_TRIGGER: Final[dict[str, object]] = msgspec.to_builtins(
    msgspec.convert(
        {
            **_NEW,
            "id": "trg_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
            "key": "booking.created:reminder:email",
            "scope": "tenant",
            "overridden": False,
            "version": 1,
            "created_at": "2026-01-15T12:00:00Z",
            "updated_at": "2026-01-15T12:00:00Z",
        },
        TriggerView,
    )
)
_CODES: Final = (
    "category_mismatch",
    "conflicting",
    "duplicate",
    "invalid_duration",
    "invalid_event_type",
    "invalid_key",
    "invalid_path",
    "invalid_time",
    "invalid_timezone",
    "needs_schedule",
    "needs_subject",
    "needs_template",
    "needs_until_seen",
    "too_large",
    "unknown_resolver",
    "unknown_template",
)


@endpoint(
    "POST",
    "/v1/triggers",
    Permission.TRIGGERS_WRITE,
    summary="Make a trigger",
    body=NewTrigger,
    answer=TriggerView,
    status=201,
    audited=True,
    versioned=True,
    refusals={409: ["key_taken"], 422: _CODES},
    body_example=_NEW,
    answer_example=_TRIGGER,
)
async def create_trigger(call: Call[NewTrigger, NoQuery]) -> Versioned:
    """Holds for events from now on. Called by the platform without a tenant, it holds for every tenant that has none of
    the same key."""
    made = await call.app.events.triggers.create(call.tx, call.scope, _spec_of(call.body), call.body.key)
    return Versioned(body=_show(made), version=made.version)


@endpoint(
    "GET",
    "/v1/triggers",
    Permission.TRIGGERS_READ,
    summary="List triggers",
    query=TriggerQuery,
    answer=Listing[TriggerView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_TRIGGER], "next": None},
)
async def list_triggers(call: Call[NoBody, TriggerQuery]) -> Listing[TriggerView]:
    """The tenant's own and the platform's, newest first."""
    query, triggers = call.query, call.app.events.triggers
    page = await triggers.page(call.tx, call.scope, query.event_type, query.cursor, query.limit)
    hidden = await triggers.overridden(call.tx, page.items)
    return Listing(items=[_show(one, overridden=one.id in hidden) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/triggers/{id}",
    Permission.TRIGGERS_READ,
    summary="Read a trigger",
    answer=TriggerView,
    versioned=True,
    answer_example=_TRIGGER,
)
async def get_trigger(call: Call[NoBody, NoQuery]) -> Versioned:
    """With its version as the ETag."""
    found = await call.app.events.triggers.get(call.tx, call.scope, call.id("trg"))
    hidden = await call.app.events.triggers.overridden(call.tx, [found])
    return Versioned(body=_show(found, overridden=found.id in hidden), version=found.version)


@endpoint(
    "PATCH",
    "/v1/triggers/{id}",
    Permission.TRIGGERS_WRITE,
    summary="Change a trigger",
    body=TriggerChange,
    answer=TriggerView,
    versioned=True,
    audited=True,
    refusals={409: ["key_taken", "platform_trigger"], 422: _CODES},
    body_example={"enabled": False},
    answer_example=_TRIGGER | {"enabled": False, "version": 2},
)
async def change_trigger(call: Call[TriggerChange, NoQuery]) -> Versioned:
    """Timers that it has planned keep their time and follow what it says when they are due; where it is disabled or
    removed by then, they are skipped."""
    given = {name: value for name, value in msgspec.structs.asdict(call.body).items() if value is not UNSET}
    changes = {name: msgspec.to_builtins(value) for name, value in given.items()}
    key = changes.pop("key", None)
    changed = await call.app.events.triggers.change(
        call.tx, call.scope, call.id("trg"), changes, key=key, expected_version=call.expected_version
    )
    return Versioned(body=_show(changed), version=changed.version)


@endpoint(
    "DELETE",
    "/v1/triggers/{id}",
    Permission.TRIGGERS_WRITE,
    summary="Remove a trigger",
    status=204,
    audited=True,
    refusals={409: ["platform_trigger"]},
)
async def remove_trigger(call: Call[NoBody, NoQuery]) -> None:
    """What it has planned is skipped when it is due."""
    await call.app.events.triggers.remove(call.tx, call.scope, call.id("trg"))


def _spec_of(body: NewTrigger) -> TriggerSpec:
    fields = msgspec.to_builtins(body)
    del fields["key"]
    return msgspec.convert(fields, TriggerSpec)


def _plain(spec: TriggerSpec) -> dict[str, Any]:
    return msgspec.to_builtins(spec)


def _show(trigger: Trigger, *, overridden: bool = False) -> TriggerView:
    return msgspec.convert(
        {
            **_plain(trigger.spec),
            "key": trigger.key,
            "id": ids.show("trg", trigger.id),
            "scope": "platform" if trigger.is_platforms else "tenant",
            "overridden": overridden,
            "version": trigger.version,
            "created_at": trigger.created_at,
            "updated_at": trigger.updated_at,
        },
        TriggerView,
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_trigger,
    list_triggers,
    get_trigger,
    change_trigger,
    remove_trigger,
)
