"""Sending, and following what was sent."""

from typing import Final

from waypost.api.endpoint import Call, Endpoint, Submits, endpoint
from waypost.api.file_shapes import FILE_CODES
from waypost.api.notification_bulk import send_notifications
from waypost.api.notification_shapes import (
    AcceptedView,
    ContentView,
    NewNotification,
    NotificationDetailView,
    NotificationQuery,
    NotificationView,
    RequestView,
    TimelineView,
    command_of,
    filter_of,
    show_accepted,
    show_content,
    show_detail,
    show_step,
    show_summary,
)
from waypost.api.recipients import FIELD_CODES
from waypost.api.shapes import Listing, NoBody, NoQuery
from waypost.api.template_shapes import COMPILE_CODES, CONTENT_CODES
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission

_ID: Final = "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
_REQUEST_ID: Final = "req_01KF0M7Q8Z6Y5X4W3V2T1S0R9P"
_NOTIFICATION: Final = {
    "id": _ID,
    "request_id": _REQUEST_ID,
    "recipient_id": "user-42",
    "channel": "email",
    "category": "transactional",
    "priority": "normal",
    "template": None,
    "status": "dispatched",
    "reason": None,
    "attempts": 1,
    "send_at": "2026-01-15T12:00:00Z",
    "expires_at": "2026-01-16T12:00:00Z",
    "created_at": "2026-01-15T12:00:00Z",
}
_DETAIL: Final = _NOTIFICATION | {"to": "j***@example.com", "metadata": {"order": 1001}, "resend_of": None}
_ACCEPTED: Final = {
    "request_id": _REQUEST_ID,
    "notifications": [{"id": _ID, "recipient_id": "user-42", "channel": "email", "status": "queued"}],
}
_SUBMITS: Final = Submits(command=command_of, show=show_accepted)


@endpoint(
    "POST",
    "/v1/notifications",
    Permission.NOTIFICATIONS_SEND,
    summary="Send",
    body=NewNotification,
    answer=AcceptedView,
    status=202,
    submits=_SUBMITS,
    wide=True,
    refusals={
        403: ["tenant_onboarding"],
        422: [
            *FIELD_CODES,
            "list_alone",
            "list_too_large",
            "unknown_list",
            *COMPILE_CODES,
            *FILE_CODES,
            "ambiguous_recipient",
            "before_send_at",
            "category_mismatch",
            "channel_or_channels",
            "content_or_template",
            "domain_not_verified",
            "duplicate",
            "header_reserved",
            "in_the_past",
            "invalid_duration",
            "needs_until_seen",
            "one_body",
            "invalid_variables",
            "too_far_ahead",
            "topic_mismatch",
            "unknown_template",
            "unknown_topic",
        ],
    },
    body_example={
        "to": {"id": "user-42", "email": "jane@example.com", "attributes": {"first_name": "Jane"}},
        "content": {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"},
        "category": "transactional",
    },
    answer_example=_ACCEPTED,
)
async def send_notification(call: Call[NewNotification, NoQuery]) -> AcceptedView:
    """Stored before it is answered, sent right after. One bad member of `to` refuses the whole call and is named by
    its pointer; a member that may not be written to comes back as `suppressed`, with the reason."""
    command = _SUBMITS.command(call.body, call.idempotency_key)
    return show_accepted(await call.app.notifications.submit(call.tx, call.scope, command))


@endpoint(
    "GET",
    "/v1/notifications",
    Permission.NOTIFICATIONS_READ,
    summary="List notifications",
    query=NotificationQuery,
    answer=Listing[NotificationView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_NOTIFICATION], "next": None},
)
async def list_notifications(call: Call[NoBody, NotificationQuery]) -> Listing[NotificationView]:
    """Newest first."""
    query = call.query
    page = await call.app.notifications.read.page(call.tx, call.scope, filter_of(query), query.cursor, query.limit)
    return Listing(items=[show_summary(summary) for summary in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/notifications/{id}",
    Permission.NOTIFICATIONS_READ,
    summary="Read a notification's state",
    answer=NotificationDetailView,
    answer_example=_DETAIL,
)
async def get_notification(call: Call[NoBody, NoQuery]) -> NotificationDetailView:
    """Always current."""
    return show_detail(await call.app.notifications.read.detail(call.tx, call.scope, call.id("ntf")))


@endpoint(
    "GET",
    "/v1/notifications/{id}/timeline",
    Permission.NOTIFICATIONS_READ,
    summary="Read every step of a notification",
    answer=TimelineView,
    answer_example={
        "items": [{"at": "2026-01-15T12:00:00Z", "event": "accepted", "reason": None, "detail": {"channel": "email"}}],
        "next": None,
    },
)
async def get_timeline(call: Call[NoBody, NoQuery]) -> TimelineView:
    """Accepted, withheld, deferred, each attempt and its outcome: with time and reason, oldest first."""
    steps = await call.app.notifications.read.timeline(call.tx, call.scope, call.id("ntf"))
    return TimelineView(items=[show_step(step) for step in steps])


@endpoint(
    "GET",
    "/v1/notifications/{id}/content",
    Permission.NOTIFICATIONS_READ,
    summary="Read what was or will be sent",
    answer=ContentView,
    refusals={404: ["erased"], 422: CONTENT_CODES},
    answer_example={
        "subject": "Hello Jane",
        "html": "<p>Welcome, Jane</p>",
        "text": "Welcome, Jane",
        "from": "Waypost <hello@waypost.localhost>",
        "to": "j***@example.com",
        "headers": {"Message-ID": "<01KF0M7Q8Z6Y5X4W3V2T1S0R9Q@waypost.localhost>"},
        "attachments": [
            {
                "filename": "invoice-1001.pdf",
                "content_type": "application/pdf",
                "size": 48213,
                "disposition": "attachment",
                "content_id": None,
            }
        ],
    },
)
async def get_content(call: Call[NoBody, NoQuery]) -> ContentView:
    """Rendered from the inputs that were frozen when it was accepted. Write-only variables are shown as dots."""
    return show_content(await call.app.notifications.read.content(call.tx, call.scope, call.id("ntf")))


@endpoint(
    "POST",
    "/v1/notifications/{id}/cancel",
    Permission.NOTIFICATIONS_SEND,
    summary="Cancel a notification",
    answer=NotificationView,
    refusals={403: ["tenant_onboarding"], 409: ["not_cancellable"]},
    answer_example=_NOTIFICATION | {"status": "cancelled", "attempts": 0},
)
async def cancel_notification(call: Call[NoBody, NoQuery]) -> NotificationView:
    """Stops what has not begun to be sent. Cancelling twice is as good as once."""
    return show_summary(await call.app.notifications.cancel.one(call.tx, call.scope, call.id("ntf")))


@endpoint(
    "POST",
    "/v1/notifications/{id}/resend",
    Permission.NOTIFICATIONS_SEND,
    summary="Send a notification again",
    answer=AcceptedView,
    status=202,
    refusals={
        403: ["tenant_onboarding"],
        409: [
            "attachment_missing",
            "domain_not_verified",
            "erased",
            "header_reserved",
            "not_ended",
            "secrets_gone",
            *CONTENT_CODES,
        ],
    },
    answer_example=_ACCEPTED,
)
async def resend_notification(call: Call[NoBody, NoQuery]) -> AcceptedView:
    """A new notification, of one that has ended: to the same person, at the address they have now, with the same
    content and data. It passes the gate like any other, so it may come back as `suppressed`, with the reason."""
    resend = call.app.notifications.resend
    return show_accepted(await resend(call.tx, call.scope, call.id("ntf"), key=call.idempotency_key))


@endpoint(
    "GET",
    "/v1/requests/{id}",
    Permission.NOTIFICATIONS_READ,
    summary="Read all that one call made",
    answer=RequestView,
    answer_example={"id": _REQUEST_ID, "notifications": [_NOTIFICATION]},
)
async def get_request(call: Call[NoBody, NoQuery]) -> RequestView:
    """In the order of `to`."""
    request_id = call.id("req")
    made = await call.app.notifications.read.request(call.tx, call.scope, request_id)
    return RequestView(id=ids.show("req", request_id), notifications=[show_summary(summary) for summary in made])


@endpoint(
    "POST",
    "/v1/requests/{id}/cancel",
    Permission.NOTIFICATIONS_SEND,
    summary="Cancel all that one call made",
    answer=RequestView,
    refusals={403: ["tenant_onboarding"]},
    answer_example={"id": _REQUEST_ID, "notifications": [_NOTIFICATION | {"status": "cancelled", "attempts": 0}]},
)
async def cancel_request(call: Call[NoBody, NoQuery]) -> RequestView:
    """Stops those that have not begun to be sent; the answer says how each stands."""
    request_id = call.id("req")
    made = await call.app.notifications.cancel.request(call.tx, call.scope, request_id)
    return RequestView(id=ids.show("req", request_id), notifications=[show_summary(summary) for summary in made])


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    send_notification,
    send_notifications,
    list_notifications,
    get_notification,
    get_timeline,
    get_content,
    cancel_notification,
    resend_notification,
    get_request,
    cancel_request,
)
