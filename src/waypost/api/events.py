"""What the customer's product tells, and what came of it."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.bulk_body import Items
from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.notification_bulk import ItemRefusal, show_refusal
from waypost.api.notification_shapes import AcceptedNotificationView, show_notification
from waypost.api.notifications import send_notification
from waypost.api.shapes import JsonMap, Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.api.timers import TIMER_EXAMPLE, TimerShape, show_timer
from waypost.kernel import ids
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission
from waypost.triggers.model import DEFAULT_CONSUMER, Counts, Event, FailedEvent, Taken


class NewEvent(Shape):
    """A fact. The same `consumer` and `id` again changes nothing."""

    id: Annotated[
        str, Meta(min_length=1, max_length=128, description="Yours; unique per consumer.", examples=["evt-1"])
    ]
    type: Annotated[str, Meta(min_length=1, max_length=128, examples=["booking.created"])]
    occurred_at: Annotated[Moment, Meta(description="When it happened. Of several about one subject, the latest wins.")]
    data: JsonMap = field(default_factory=dict)
    consumer: Annotated[
        str, Meta(min_length=1, max_length=64, description="Where the id comes from, where there are several sources.")
    ] = DEFAULT_CONSUMER


class EventCounts(Shape):
    notifications: Annotated[int, Meta(description="Made at once, suppressed ones among them.")]
    suppressed: int
    timers: Annotated[int, Meta(description="Planned, or skipped with a reason that the timer tells.")]
    skipped: int
    digested: Annotated[int, Meta(description="Added to a digest.")]
    moved: Annotated[int, Meta(description="Timers of the subject that got another time.")]
    cancelled: Annotated[int, Meta(description="Timers of the subject that were dropped.")]
    duplicates: Annotated[int, Meta(description="Events that had been taken in before.")]


class EventView(Shape):
    accepted: Annotated[bool, Meta(description="Also true of an event that had been taken in before.")]
    notifications: Annotated[list[AcceptedNotificationView], Meta(description="Up to 100.")]
    counts: EventCounts
    timers: Annotated[list[TimerShape], Meta(description="Up to 100.")]


class RefusedEvent(Shape):
    index: Annotated[int, Meta(description="The place in the body, from 0.")]
    error: ItemRefusal


class EventsView(Shape):
    accepted: int
    refused: list[RefusedEvent]
    counts: EventCounts


class FailedEventView(Shape):
    id: str
    consumer: str
    event_id: str
    attempts: int
    code: str
    problem: str
    failed_at: Moment
    dead_at: Moment | None


_COUNTS: Final = {
    "notifications": 1,
    "suppressed": 0,
    "timers": 1,
    "skipped": 0,
    "digested": 0,
    "moved": 0,
    "cancelled": 0,
    "duplicates": 0,
}
_EVENT: Final = {
    "id": "evt-1",
    "type": "booking.created",
    "occurred_at": "2026-01-15T12:00:00Z",
    "data": {"booking_id": "b-7", "guest": {"id": "user-42", "email": "jane@example.com"}, "stay_start": "2026-02-01"},
}
_ANSWER: Final = {
    "accepted": True,
    "notifications": [
        {"id": "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q", "recipient_id": "user-42", "channel": "email", "status": "queued"}
    ],
    "counts": _COUNTS,
    "timers": [TIMER_EXAMPLE],
}
_FAILED: Final = {
    "id": "evf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "consumer": "bookings",
    "event_id": "evt-1",
    "attempts": 10,
    "code": "unknown_template",
    "problem": "There is no published template with this key and channel.",
    "failed_at": "2026-01-15T12:00:00Z",
    "dead_at": "2026-01-15T12:00:00Z",
}
EVENT_CODES: Final = (
    *send_notification.refusals[422],
    "invalid_event_type",
    "invalid_id",
    "recipient_missing",
    "subject_missing",
    "too_far_ahead",
    "too_large",
    "too_many",
    "wrong_type",
)


@endpoint(
    "POST",
    "/v1/events",
    Permission.EVENTS_SEND,
    summary="Tell an event",
    body=NewEvent,
    answer=EventView,
    status=202,
    refusals={403: ["tenant_onboarding"], 422: EVENT_CODES},
    body_example=_EVENT,
    answer_example=_ANSWER,
)
async def send_event(call: Call[NewEvent, NoQuery]) -> EventView:
    """Taken in once, in one transaction with all that it starts. Where a trigger cannot be followed (a template that is
    missing, a variable that the event does not have) the event is refused whole, with the trigger's key and the place
    in the event, and may be sent again once that is mended: the codes are then those of sending."""
    return show_taken(await call.app.events.events.take(call.tx, call.scope, event_of(call.body)))


@endpoint(
    "POST",
    "/v1/events/bulk",
    Permission.EVENTS_SEND,
    summary="Tell many events",
    body=Items[NewEvent],
    answer=EventsView,
    status=202,
    refusals={403: ["tenant_onboarding"]},
    body_example=_EVENT,
    answer_example={
        "accepted": 1,
        "refused": [
            {
                "index": 1,
                "error": {
                    "status": 422,
                    "code": "required",
                    "detail": "This field is required.",
                    "errors": [{"pointer": "/type", "code": "required", "message": "This field is required."}],
                },
            }
        ],
        "counts": _COUNTS,
    },
)
async def send_events(call: Call[Items[NewEvent], NoQuery]) -> EventsView:
    """Up to 10,000, as a JSON array or as NDJSON. The good ones are taken in, each bad one is told by its index."""
    counts, accepted, place = Counts(), 0, 0
    refused: list[RefusedEvent] = []
    for items in call.body.slices():
        read = [event_of(item) if isinstance(item, NewEvent) else item for _, item in items]
        events = [one for one in read if isinstance(one, Event)]
        answers = iter(await call.app.events.events.take_all(call.tx, call.scope, events))
        for one in read:
            answer = one if isinstance(one, Refused) else next(answers)
            if isinstance(answer, Refused):
                refused.append(RefusedEvent(index=place, error=show_refusal(answer)))
            else:
                accepted += 1
                counts.add(answer.counts)
            place += 1
    return EventsView(accepted=accepted, refused=refused, counts=_show_counts(counts))


@endpoint(
    "GET",
    "/v1/events/failed",
    Permission.TRIGGERS_READ,
    summary="List pulled events that were given up",
    query=PageQuery,
    answer=Listing[FailedEventView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_FAILED], "next": None},
)
async def list_failed_events(call: Call[NoBody, PageQuery]) -> Listing[FailedEventView]:
    """What `waypost worker --consume` pulled and could not take in ten times, newest first."""
    page = await call.app.events.dead.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_show_failed(failed) for failed in page.items], next=page.next)


@endpoint(
    "POST",
    "/v1/events/failed/{id}/redrive",
    Permission.EVENTS_SEND,
    summary="Take in a pulled event after all",
    answer=EventView,
    status=202,
    refusals={403: ["tenant_onboarding"], 422: [*EVENT_CODES, "unreadable_event"]},
    answer_example=_ANSWER,
)
async def redrive_event(call: Call[NoBody, NoQuery]) -> EventView:
    """By the triggers of today. Refused again, it stays in the list."""
    return show_taken(await call.app.events.dead.redrive(call.tx, call.scope, call.id("evf")))


def event_of(body: NewEvent) -> Event:
    return Event(id=body.id, type=body.type, occurred_at=body.occurred_at, data=body.data, consumer=body.consumer)


def show_taken(taken: Taken) -> EventView:
    return EventView(
        accepted=True,
        notifications=[show_notification(one) for one in taken.notifications],
        counts=_show_counts(taken.counts),
        timers=[show_timer(view) for view in taken.timers],
    )


def _show_counts(counts: Counts) -> EventCounts:
    return EventCounts(**{name: getattr(counts, name) for name in EventCounts.__struct_fields__})


def _show_failed(failed: FailedEvent) -> FailedEventView:
    return FailedEventView(
        id=ids.show("evf", failed.id),
        consumer=failed.consumer,
        event_id=failed.event_id,
        attempts=failed.attempts,
        code=failed.code,
        problem=failed.problem,
        failed_at=failed.failed_at,
        dead_at=failed.dead_at,
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (send_event, send_events, list_failed_events, redrive_event)
