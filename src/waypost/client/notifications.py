"""Sending, and following what was sent."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from waypost.client.answers import (
    Accepted,
    Bulk,
    Json,
    JsonObject,
    Notification,
    Request,
    ShownContent,
    Timeline,
    TimelineStep,
)
from waypost.client.transport import Transport, segment

Target = str | Mapping[str, Json]
_BULK_PATIENCE_SECONDS: Final = 60.0


class Attachment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of an email: its bytes, or the key of an object that the operator has laid down."""

    filename: str
    content: bytes | None = None
    object: str | None = None
    content_type: str | None = None
    disposition: str | None = None
    """`inline`: shown inside the HTML, as `cid:` and its `content_id`."""
    content_id: str | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call to send. Give either `content` (`subject` with `html`, `text` or both) or `template`."""

    to: Target | Sequence[Target]
    actor: str | None = None
    """Your id of who caused it; left out where `to` names them."""
    content: Mapping[str, str] | None = None
    template: str | None = None
    variables: JsonObject | None = None
    channel: str | None = None
    channels: Sequence[str] | None = None
    """Several instead of one, in the order of preference; `routing` says what that means."""
    routing: str | None = None
    category: str | None = None
    topic: str | None = None
    priority: str | None = None
    send_at: datetime | None = None
    expires_at: datetime | None = None
    sender: str | None = msgspec.field(default=None, name="from")
    reply_to: str | None = None
    cc: Sequence[str] | None = None
    bcc: Sequence[str] | None = None
    headers: Mapping[str, str] | None = None
    attachments: Sequence[Attachment] | None = None
    metadata: JsonObject | None = None
    tracking: Mapping[str, bool] | None = None
    """Whether `opens` and `clicks` are noticed, above what template and settings say."""
    idempotency_key: str | None = None
    """Of an item of a bulk only; a call of one takes its key beside the message."""


class Notifications:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, message: Message, *, idempotency_key: str | None = None) -> Accepted:
        return await self._transport.ask(
            "POST", "/v1/notifications", Accepted, body=message, idempotency_key=idempotency_key
        )

    async def send_many(self, messages: Sequence[Message], *, idempotency_key: str | None = None) -> Bulk:
        """Up to 10,000, each accepted or refused on its own."""
        raw = await self._transport.raw(
            "POST",
            "/v1/notifications/bulk",
            body=messages,
            idempotency_key=idempotency_key,
            patience=_BULK_PATIENCE_SECONDS,
        )
        return msgspec.json.decode(raw, type=Bulk)

    async def get(self, notification_id: str) -> Notification:
        return await self._transport.ask("GET", _path(notification_id), Notification)

    async def timeline(self, notification_id: str) -> tuple[TimelineStep, ...]:
        answer = await self._transport.ask("GET", _path(notification_id, "/timeline"), Timeline)
        return answer.items

    async def content(self, notification_id: str) -> ShownContent:
        return await self._transport.ask("GET", _path(notification_id, "/content"), ShownContent)

    async def cancel(self, notification_id: str) -> Notification:
        return await self._transport.ask("POST", _path(notification_id, "/cancel"), Notification)

    async def resend(self, notification_id: str, *, idempotency_key: str | None = None) -> Accepted:
        """The same once more, as a new notification, of one that has ended."""
        path = _path(notification_id, "/resend")
        return await self._transport.ask("POST", path, Accepted, idempotency_key=idempotency_key)

    def list(
        self,
        *,
        status: str | None = None,
        recipient_id: str | None = None,
        channel: str | None = None,
        category: str | None = None,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[Notification]:
        """All that match, newest first; pages are fetched as they are read."""
        query = {
            "status": status,
            "recipient_id": recipient_id,
            "channel": channel,
            "category": category,
            "created_from": created_from.isoformat() if created_from else None,
            "created_before": created_before.isoformat() if created_before else None,
        }
        return self._transport.pages("/v1/notifications", Notification, query=query, limit=page_size)

    async def request(self, request_id: str) -> Request:
        return await self._transport.ask("GET", f"/v1/requests/{segment(request_id)}", Request)

    async def cancel_request(self, request_id: str) -> Request:
        """Stops those of one call that have not begun to be sent."""
        return await self._transport.ask("POST", f"/v1/requests/{segment(request_id)}/cancel", Request)


def _path(notification_id: str, rest: str = "") -> str:
    return f"/v1/notifications/{segment(notification_id)}{rest}"
