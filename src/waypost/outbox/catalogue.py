"""Every type of event that Waypost tells others: its name, what it means, and the shape of its data.

`docs/webhook-events.md` is made from here. A kind that has no entry is told to nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.outbox.model import OutboxKind


class Subject(StrEnum):
    """What events are about; the value is the prefix of its ids."""

    NOTIFICATION = "ntf"
    SUPPRESSION = "sup"
    WEBHOOK_ENDPOINT = "whe"
    SENDER_ACCOUNT = "acc"
    DOMAIN = "dom"


class Data(msgspec.Struct, frozen=True, kw_only=True):
    sequence: Annotated[
        int,
        Meta(description="Grows from event to event of one subject. Events may arrive in any order: keep the highest."),
    ]


class NotificationData(Data, frozen=True, kw_only=True):
    """A notification as it stood when this happened. Never its address or its content."""

    notification_id: str
    request_id: str
    recipient_id: Annotated[str, Meta(description="Your own id of the recipient.")]
    channel: str
    category: str
    status: str
    reason: Annotated[str, Meta(description="Why, in a word; see the notification's timeline for more.")] | None
    attempt: Annotated[int, Meta(description="Which attempt brought this about.")] | None
    created_at: datetime
    send_at: datetime
    expires_at: datetime
    metadata: Annotated[
        dict[str, JsonValue], Meta(description="As given with the notification; empty once the recipient is erased.")
    ]


class ReadingData(Data, frozen=True, kw_only=True):
    """A notification whose reader did something. Programs that load everything ahead look like readers: `client` is the
    best guess, and all that is kept of whoever asked."""

    notification_id: str
    request_id: str
    recipient_id: Annotated[str, Meta(description="Your own id of the recipient.")]
    channel: str
    category: str
    client: Annotated[str, Meta(description="`browser`, `proxy`, `scanner`, `prefetch` or `unknown`.")]
    link: Annotated[int, Meta(description="Which link of the message, counted from 1.")] | None
    url: Annotated[str, Meta(description="Where the link leads; null where that differs from reader to reader.")] | None
    created_at: datetime
    metadata: Annotated[
        dict[str, JsonValue], Meta(description="As given with the notification; empty once the recipient is erased.")
    ]


class SuppressionData(Data, frozen=True, kw_only=True):
    """A suppression, without the address it is about."""

    suppression_id: str
    channel: str
    reason: str
    source: str
    notification_id: Annotated[str, Meta(description="The message that brought the news, if one did.")] | None
    created_at: datetime
    expires_at: datetime | None
    released_at: datetime | None


class WebhookEndpointData(Data, frozen=True, kw_only=True):
    webhook_endpoint_id: str
    status: str
    reason: (
        Annotated[str, Meta(description="`by_hand`, `gone` (it answered 410) or `failing` (for three days).")] | None
    )
    disabled_at: datetime | None


class SenderAccountData(Data, frozen=True, kw_only=True):
    """A sender account, without its addresses."""

    sender_account_id: str
    name: str
    status: str
    reason: (
        Annotated[
            str,
            Meta(
                description="Why it stopped: `by_hand`, `bounce_rate`, `error_rate`, `errors_in_a_row`,"
                " `authentication`; null once that has changed."
            ),
        ]
        | None
    )


class DomainData(Data, frozen=True, kw_only=True):
    domain_id: str
    name: str
    state: str
    failed: Annotated[list[str], Meta(description="The checks that fail now: `ownership`, `dkim`, …")]
    failing_since: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EventType:
    name: str
    subject: Subject
    sentence: str
    data: type[Data]
    example: Mapping[str, object]
    subscribable: bool = True
    """False: no one listens to it; it is sent to the one endpoint that it is for."""


_NOTIFICATION: Final[JsonObject] = {
    "sequence": 1768478400123456,
    "notification_id": "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "request_id": "req_01KF0M7Q8Z6Y5X4W3V2T1S0R9P",
    "recipient_id": "user-42",
    "channel": "email",
    "category": "transactional",
    "status": "dispatched",
    "reason": None,
    "attempt": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "send_at": "2026-01-15T12:00:00Z",
    "expires_at": "2026-01-16T12:00:00Z",
    "metadata": {"order": "A-1001"},
}
_READING: Final[JsonObject] = {
    "sequence": 1768478400123456,
    "notification_id": "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "request_id": "req_01KF0M7Q8Z6Y5X4W3V2T1S0R9P",
    "recipient_id": "user-42",
    "channel": "email",
    "category": "marketing",
    "client": "browser",
    "link": None,
    "url": None,
    "created_at": "2026-01-15T12:00:00Z",
    "metadata": {"campaign": "spring"},
}
_SUPPRESSION: Final[JsonObject] = {
    "sequence": 1768478400123456,
    "suppression_id": "sup_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "channel": "email",
    "reason": "hard_bounce",
    "source": "delivery",
    "notification_id": "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "created_at": "2026-01-15T12:00:00Z",
    "expires_at": None,
    "released_at": None,
}
_ENDPOINT: Final[JsonObject] = {
    "sequence": 1768478400123456,
    "webhook_endpoint_id": "whe_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "status": "disabled",
    "reason": "failing",
    "disabled_at": "2026-01-15T12:00:00Z",
}


_ACCOUNT: Final[JsonObject] = {
    "sequence": 1768478400123456,
    "sender_account_id": "acc_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "name": "Newsletter",
    "status": "paused",
    "reason": "bounce_rate",
}


def _account(word: str, status: str, reason: str | None, sentence: str) -> EventType:
    return EventType(
        name=f"sender_account.{word}",
        subject=Subject.SENDER_ACCOUNT,
        sentence=sentence,
        data=SenderAccountData,
        example={**_ACCOUNT, "status": status, "reason": reason},
    )


def _domain(word: str, sentence: str, failed: Sequence[str] = ()) -> EventType:
    example = {
        "sequence": 1768478400123456,
        "domain_id": "dom_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
        "name": "mail.example.com",
        "state": word,
        "failed": list(failed),
        "failing_since": "2026-01-15T12:00:00Z" if failed else None,
    }
    return EventType(name=f"domain.{word}", subject=Subject.DOMAIN, sentence=sentence, data=DomainData, example=example)


def _notification(word: str, sentence: str, reason: str | None = None) -> EventType:
    example = {**_NOTIFICATION, "status": "queued" if word == "deferred" else word, "reason": reason}
    return EventType(
        name=f"notification.{word}",
        subject=Subject.NOTIFICATION,
        sentence=sentence,
        data=NotificationData,
        example=example,
    )


def _suppression(word: str, sentence: str) -> EventType:
    example = {**_SUPPRESSION, "released_at": "2026-01-20T08:00:00Z" if word == "released" else None}
    return EventType(
        name=f"suppression.{word}",
        subject=Subject.SUPPRESSION,
        sentence=sentence,
        data=SuppressionData,
        example=example,
    )


CATALOGUE: Final[Mapping[int, EventType]] = {
    OutboxKind.NOTIFICATION_DISPATCHED: _notification("dispatched", "The vendor has taken it."),
    OutboxKind.NOTIFICATION_DEFERRED: _notification(
        "deferred", "An attempt did not succeed; it will be tried again.", "mailbox_full"
    ),
    OutboxKind.NOTIFICATION_FAILED: _notification("failed", "It could not be sent, and will not be.", "rejected"),
    OutboxKind.NOTIFICATION_SUPPRESSED: _notification(
        "suppressed", "It was not sent, for the reason given.", "hard_bounce"
    ),
    OutboxKind.NOTIFICATION_CANCELLED: _notification("cancelled", "It was taken back before it went out.", "cancelled"),
    OutboxKind.NOTIFICATION_EXPIRED: _notification("expired", "Its time ran out before it could go out.", "expired"),
    OutboxKind.NOTIFICATION_UNCONFIRMED: _notification(
        "unconfirmed", "It may have gone out; nobody knows, and it is not sent again.", "worker_lost"
    ),
    OutboxKind.NOTIFICATION_OPENED: EventType(
        name="notification.opened",
        subject=Subject.NOTIFICATION,
        sentence="Its pictures were loaded: somebody, or something, opened it.",
        data=ReadingData,
        example=_READING,
    ),
    OutboxKind.NOTIFICATION_CLICKED: EventType(
        name="notification.clicked",
        subject=Subject.NOTIFICATION,
        sentence="One of its links was followed.",
        data=ReadingData,
        example={**_READING, "link": 2, "url": "https://shop.example.com/spring"},
    ),
    OutboxKind.SUPPRESSION_ADDED: _suppression("added", "An address will not be written to any more."),
    OutboxKind.SUPPRESSION_RELEASED: _suppression("released", "An address may be written to again."),
    OutboxKind.WEBHOOK_ENDPOINT_DISABLED: EventType(
        name="webhook_endpoint.disabled",
        subject=Subject.WEBHOOK_ENDPOINT,
        sentence="A webhook endpoint gets no more events until someone enables it again.",
        data=WebhookEndpointData,
        example=_ENDPOINT,
    ),
    OutboxKind.WEBHOOK_ENDPOINT_TEST: EventType(
        name="webhook_endpoint.test",
        subject=Subject.WEBHOOK_ENDPOINT,
        sentence="Someone asked for a test of this endpoint.",
        data=WebhookEndpointData,
        example={**_ENDPOINT, "status": "enabled", "reason": None, "disabled_at": None},
        subscribable=False,
    ),
    OutboxKind.SENDER_ACCOUNT_PAUSED: _account(
        "paused", "paused", "bounce_rate", "A sender account sends nothing until someone resumes it."
    ),
    OutboxKind.SENDER_ACCOUNT_SUSPENDED: _account(
        "suspended", "suspended", "authentication", "The server of a sender account does not let it in any more."
    ),
    OutboxKind.SENDER_ACCOUNT_RESUMED: _account("resumed", "active", None, "A sender account sends again."),
    OutboxKind.SENDER_ACCOUNT_ARCHIVED: _account("archived", "archived", "by_hand", "A sender account was removed."),
    OutboxKind.DOMAIN_VERIFIED: _domain("verified", "A domain's records are all there: it may be used."),
    OutboxKind.DOMAIN_FAILING: _domain(
        "failing", "Records of a verified domain are wrong; after three days it may not be used any more.", ["dkim"]
    ),
    OutboxKind.DOMAIN_FAILED: _domain(
        "failed", "A domain has lost its proof: nothing is sent from it until its records are right again.", ["dkim"]
    ),
}
NAMES: Final = {entry.name: kind for kind, entry in CATALOGUE.items()}
