"""Sending many at once: how the items are written, and how each is answered."""

import hashlib
from typing import Annotated, Final

from msgspec import Meta

from waypost.api.bulk_body import Items
from waypost.api.endpoint import Call, endpoint
from waypost.api.notification_shapes import (
    AcceptedNotificationView,
    NewNotification,
    asked_for,
    command_like,
    message_of,
    show_notification,
)
from waypost.api.problem import FieldProblem
from waypost.api.shapes import NoQuery, Shape
from waypost.kernel import ids
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.uncollected import uncollected
from waypost.notifications.bulk import BulkAnswer, BulkItem
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.tenants.idempotency import KeyedCall

_ID: Final = "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
_AT_ONCE: Final = 100
"""Items unpacked without a break."""


class BulkNotification(NewNotification):
    """One of many: as a single call to send, with an idempotency key of its own."""

    idempotency_key: (
        Annotated[
            str,
            Meta(
                pattern=r"^[\x20-\x7e]{1,255}$",
                description="Makes the item safe to repeat, as the header does for a call of one.",
                examples=["order-1001-paid"],
            ),
        ]
        | None
    ) = None


class ItemRefusal(Shape):
    """Why an item was refused, as a call of one would have been."""

    status: int
    code: str
    detail: str
    errors: list[FieldProblem]


class BulkItemView(Shape, omit_defaults=True):
    """Either `notifications` or `error`."""

    index: Annotated[int, Meta(description="The place in the body, from 0.")]
    notifications: list[AcceptedNotificationView] | None = None
    error: ItemRefusal | None = None


class BulkView(Shape):
    request_id: Annotated[str, Meta(description="All that was accepted; null where nothing was.")] | None
    accepted: int
    refused: int
    items: list[BulkItemView]


@endpoint(
    "POST",
    "/v1/notifications/bulk",
    Permission.NOTIFICATIONS_SEND,
    summary="Send many",
    body=Items[BulkNotification],
    answer=BulkView,
    status=202,
    refusals={403: ["tenant_onboarding"]},
    body_example={
        "idempotency_key": "order-1001-paid",
        "to": {"id": "user-42", "email": "jane@example.com"},
        "content": {"subject": "Order 1001", "text": "Your order is paid."},
    },
    answer_example={
        "request_id": "req_01KF0M7Q8Z6Y5X4W3V2T1S0R9P",
        "accepted": 1,
        "refused": 1,
        "items": [
            {
                "index": 0,
                "notifications": [
                    {
                        "id": "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
                        "recipient_id": "user-42",
                        "channel": "email",
                        "status": "queued",
                    }
                ],
            },
            {
                "index": 1,
                "error": {
                    "status": 422,
                    "code": "required",
                    "detail": "This field is required.",
                    "errors": [{"pointer": "/to", "code": "required", "message": "This field is required."}],
                },
            },
        ],
    },
)
async def send_notifications(call: Call[Items[BulkNotification], NoQuery]) -> BulkView:
    """Up to 10,000 items and 10,000 recipients, as a JSON array or as NDJSON, in one transaction. Each item is accepted
    or refused on its own, by the rules and with the codes of a call of one; the answer tells each by its index."""
    reader = ItemReader()
    slices = ([reader.item_of(written, read) for written, read in items] for items in call.body.slices(_AT_ONCE))
    with uncollected():
        return show_bulk(await call.app.notifications.bulk(call.tx, call.scope, slices, len(call.body), show_item))


class ItemReader:
    """Makes items of what was read. Neighbours mostly ask for the same message: that is made once for them."""

    def __init__(self) -> None:
        self._asked: object = None
        self._message: SubmitCommand | None = None

    def item_of(self, written: bytes, read: BulkNotification | Refused) -> BulkItem | Refused:
        if isinstance(read, Refused):
            return read
        key = read.idempotency_key
        try:
            command = command_like(self._message_of(read), read, key)
        except Refused as refusal:
            return refusal
        call = None if key is None else KeyedCall(key, hashlib.sha256(written).digest())
        return BulkItem(command, call)

    def _message_of(self, read: BulkNotification) -> SubmitCommand:
        asked = asked_for(read)
        # Of values inside JSON Python holds some for equal that are not.
        if self._message is None or asked != self._asked or (read.content is not None and read.content.json):
            self._message, self._asked = None, asked
            self._message = message_of(read)
        return self._message


def show_bulk(answer: BulkAnswer[BulkItemView]) -> BulkView:
    return BulkView(
        request_id=None if answer.request_id is None else ids.show("req", answer.request_id),
        accepted=answer.accepted,
        refused=len(answer.answers) - answer.accepted,
        items=list(answer.answers),
    )


def show_item(index: int, answer: Accepted | Refused) -> BulkItemView:
    if isinstance(answer, Accepted):
        return BulkItemView(index=index, notifications=[show_notification(one) for one in answer.notifications])
    return BulkItemView(index=index, error=show_refusal(answer))


def show_refusal(refusal: Refused) -> ItemRefusal:
    problems = [FieldProblem(pointer=each.pointer, code=each.code, message=each.message) for each in refusal.errors]
    return ItemRefusal(status=refusal.status, code=refusal.code, detail=refusal.detail, errors=problems)
