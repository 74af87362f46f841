"""What a caller asks for, what is kept of it, and what is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.delivery.gate import Skip
from waypost.delivery.model import State
from waypost.kernel.attachments import FileRef, NewFile
from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.recipients.model import Target
from waypost.templates.model import Content, InlineSource

KEPT_A_MONTH: Final = timedelta(days=30)
RESENT: Final = "resent"
"""In the timeline of a notification that was sent again: with the id of the new one."""
RESEND_OF: Final = "resend_of"
"""In the timeline of the new one: with the id of the old one."""


class Routing(StrEnum):
    """What several channels mean."""

    ALL = "all"
    """One notification on each."""
    FIRST = "first"
    """One, on the first channel on which the person can be reached."""
    UNTIL_SEEN = "until_seen"
    """One on the first channel, and one on the next each time `after` has passed and none has been seen."""


class Once(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name for what is sent: under one name nobody gets anything twice on a channel."""

    key: str
    """`api:<idempotency key>`, `evt:<event>:<trigger>`, `tmr:<timer>`, `dig:<window>`, `brd:<broadcast>`, …"""
    kept_for: timedelta | None = KEPT_A_MONTH
    """None: for ever."""

    @classmethod
    def of_call(cls, idempotency_key: str | None) -> "Once | None":
        return None if idempotency_key is None else cls(key=f"api:{idempotency_key}")


class SubmitCommand(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One call to send. Exactly one of `content` and `template` is given."""

    to: tuple[Target, ...]
    to_is_list: bool = True
    """Decides how a refusal points at a member: `/to/3/email` or `/to/email`."""
    to_list: str | None = None
    """The key of a list whose members are meant, in place of `to`."""
    actor: str | None = None
    """Who caused it, by the caller's id: left out where `to` names them."""
    channels: tuple[Channel, ...] = (Channel.EMAIL,)
    routing: Routing = Routing.ALL
    after: timedelta | None = None
    """How long each channel is waited for, where it goes on until seen."""
    content: Content | None = None
    inline: InlineSource | None = None
    """The same, where it must be compiled first."""
    template: str | None = None
    variables: JsonObject = {}
    hidden: frozenset[str] = frozenset()
    """Names of variables that are dropped once sent, and never shown; a version's schema may name more."""
    category: Category | None = None
    topic: str | None = None
    priority: Priority = Priority.NORMAL
    send_at: datetime | None = None
    expires_at: datetime | None = None
    sender: str | None = None
    reply_to: str | None = None
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    attachments: tuple[NewFile, ...] = ()
    """Of emails; other channels leave them out."""
    metadata: JsonObject = {}
    tracking: Tracking = UNSAID
    """Of emails: what this call says about opens and clicks."""
    once: Once | None = None
    withheld: Skip | None = None
    """Decided by whoever starts it, before the gate: kept as suppressed, with this reason."""

    @property
    def own_content(self) -> Content | InlineSource | None:
        """What the call brings along instead of naming a template."""
        return self.content or self.inline


class AcceptedNotification(msgspec.Struct, frozen=True, gc=False):
    id: UUID
    recipient_id: str
    """The caller's id of the recipient."""
    channel: Channel
    status: State
    reason: str | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What calls that belong together have in common."""

    id: UUID
    asker: UUID | None
    """The key that asked; None where whoever began the request notes it."""


class Accepted(msgspec.Struct, frozen=True, gc=False):
    request_id: UUID
    notifications: tuple[AcceptedNotification, ...]


class Payload(msgspec.Struct, frozen=True, omit_defaults=True, array_like=False, gc=False):
    """The personal inputs of one notification, sealed under the recipient's data key until it is composed."""

    address: str
    context: dict[str, JsonValue]
    sender: str | None = None
    reply_to: str | None = None
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    metadata: dict[str, JsonValue] = {}
    tracks: int = 0
    """What is noticed of its readers (`tracking.rules`)."""
    files: tuple[FileRef, ...] = ()


class NotificationRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A notification as it is stored."""

    id: UUID
    request_id: UUID
    recipient_id: UUID
    address_id: UUID | None
    channel: Channel
    category: Category
    topic: str | None
    priority: Priority
    status: State
    reason: str | None
    gate: int
    version_id: UUID
    locale: str | None
    send_at: datetime
    expires_at: datetime
    payload: bytes
    secrets: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A notification in a list."""

    id: UUID
    request_id: UUID
    recipient_id: str
    channel: Channel
    category: Category
    priority: Priority
    template: str | None
    status: State
    reason: str | None
    attempts: int
    send_at: datetime
    expires_at: datetime
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Detail:
    summary: Summary
    to: str | None
    """Masked; None once the recipient has been erased."""
    metadata: Mapping[str, JsonValue]
    resend_of: UUID | None
    """Which one was sent again by this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineStep:
    at: datetime
    event: str
    """`accepted`, `withheld`, `deferred`, `attempt_started`, `attempt_<outcome>`, `cancelled`, `expired`, …"""
    reason: str | None = None
    detail: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownAttempt:
    """One call to a vendor."""

    n: int
    started_at: datetime
    latency_ms: int | None
    outcome: str | None
    """None while it runs."""
    reason: str | None
    code: int | None
    reference: str | None
    reply: str | None
    """The vendor's own words, addresses masked; None where there are none, or once the recipient has been erased."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownContent:
    """What was or will be sent, rendered from the frozen inputs. Write-only variables are shown as dots."""

    subject: str
    html: str | None
    text: str
    sender: str
    to: str | None
    headers: tuple[tuple[str, str], ...] = ()
    files: tuple[FileRef, ...] = ()
    """The template's and the call's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    status: State | None = None
    recipient_id: str | None = None
    channel: Channel | None = None
    category: Category | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
