"""What the API answers, as frozen values. Fields the client does not know yet are skipped."""

from datetime import datetime
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Any]
"""Plain JSON; msgspec cannot read a recursive type."""


class AcceptedNotification(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    recipient_id: str
    channel: str
    status: str
    reason: str | None = None


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    request_id: str
    notifications: tuple[AcceptedNotification, ...]


class FieldRefusal(msgspec.Struct, frozen=True, kw_only=True):
    pointer: str
    code: str
    message: str


class ItemRefusal(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    code: str
    detail: str
    errors: tuple[FieldRefusal, ...] = ()


class BulkItem(msgspec.Struct, frozen=True, kw_only=True):
    """One of many: accepted with `notifications`, or refused with an `error`."""

    index: int
    notifications: tuple[AcceptedNotification, ...] | None = None
    error: ItemRefusal | None = None


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    request_id: str | None
    accepted: int
    refused: int
    items: tuple[BulkItem, ...]


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    request_id: str
    recipient_id: str
    channel: str
    category: str
    priority: str
    status: str
    attempts: int
    send_at: datetime
    expires_at: datetime
    created_at: datetime
    template: str | None = None
    reason: str | None = None
    to: str | None = None
    metadata: JsonObject = {}
    resend_of: str | None = None
    """Which one was sent again by this."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    notifications: tuple[Notification, ...]


class TimelineStep(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    event: str
    reason: str | None = None
    detail: JsonObject = {}


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[TimelineStep, ...]


class ShownContent(msgspec.Struct, frozen=True, kw_only=True):
    subject: str
    text: str
    html: str | None = None
    to: str | None = None
    sender: str = msgspec.field(name="from")
    headers: dict[str, str] = {}
    attachments: "tuple[ShownFile, ...]" = ()


class ShownFile(msgspec.Struct, frozen=True, kw_only=True):
    filename: str
    content_type: str
    size: int
    disposition: str
    content_id: str | None = None


class Address(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    channel: str
    masked: str
    verified: bool
    status: str
    current: bool
    created_at: datetime


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Address, ...]


class Tags(msgspec.Struct, frozen=True, kw_only=True):
    tags: tuple[str, ...]


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Of an erasure: what was destroyed, when and by whom, signed."""

    id: str
    tenant: str
    subject: str
    recipient: str
    erased_at: str
    erased_by: str
    request_id: str
    destroyed_keys: tuple[str, ...]
    destroyed: dict[str, int]
    kept: tuple[str, ...]
    signature: str


class VerifiedErasure(msgspec.Struct, frozen=True, kw_only=True):
    genuine: bool
    on_record: bool
    about: bool | None = None


class ReplayedErasures(msgspec.Struct, frozen=True, kw_only=True):
    """After a restore: how many people were back and are gone again, and how many erasures were not on record."""

    erased: int
    noted: int


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    locale: str | None
    timezone: str | None
    attributes: JsonObject
    addresses: tuple[Address, ...]
    tags: tuple[str, ...] = ()
    version: int
    created_at: datetime
    updated_at: datetime


class Suppression(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    channel: str
    address: str
    reason: str
    source: str
    created_at: datetime
    notification_id: str | None = None
    expires_at: datetime | None = None
    released_at: datetime | None = None
    released_by: str | None = None
    topic: str | None = None
    notes: str | None = None


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    mode: str
    status: str
    version: int
    created_at: datetime
    updated_at: datetime


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """The secret is shown this once."""

    id: str
    secret: str


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    tenant_id: str
    name: str
    scopes: tuple[str, ...]
    hint: str
    created_at: datetime
    created_by: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    at: datetime
    actor: str
    action: str
    subject: str
    acting_as: str | None = None
    detail: JsonObject = {}
    request_id: str | None = None


class CaughtMail(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    to: str
    subject: str
    received_at: datetime
