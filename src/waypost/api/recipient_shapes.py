"""How recipients are written and shown."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from waypost.api.shapes import JsonMap, Moment, PageQuery, Shape, ShownChannel
from waypost.kernel import ids
from waypost.recipients.certificate import Certificate
from waypost.recipients.model import (
    AddressStatus,
    AddressView,
    Recipient,
    RecipientFields,
    RecipientFilter,
    RecipientKind,
)

Email = Annotated[str, Meta(description="Kept in lower case, the domain in ASCII.", examples=["jane@example.com"])]
Phone = Annotated[str, Meta(description="With `+` and the country's code.", examples=["+14155550123"])]
Locale = Annotated[str, Meta(description="A language tag.", examples=["de-AT"])]
Timezone = Annotated[str, Meta(description="Of the IANA database.", examples=["Europe/Vienna"])]
Attributes = Annotated[JsonMap, Meta(description="Merged key by key; a key with the value null is removed.")]
Tag = Annotated[str, Meta(description="Up to 64 printable characters, none of `,;|`.", examples=["beta"])]


class RecipientChange(Shape):
    """What is left out stays as it is; null removes it."""

    kind: RecipientKind | UnsetType = UNSET
    email: Email | UnsetType | None = UNSET
    phone: Phone | UnsetType | None = UNSET
    locale: Locale | UnsetType | None = UNSET
    timezone: Timezone | UnsetType | None = UNSET
    attributes: Attributes | UnsetType | None = UNSET
    tags: Annotated[list[Tag], Meta(description="All of them: a tag that is not named goes.")] | UnsetType | None = (
        UNSET
    )


class RecipientAddressView(Shape):
    id: str
    channel: ShownChannel
    masked: str
    verified: bool
    status: AddressStatus
    current: Annotated[bool, Meta(description="Used when a message goes out on this channel.")]
    created_at: Moment


class AddressesView(Shape):
    items: list[RecipientAddressView]
    next: None = None


class RecipientView(Shape):
    id: str
    kind: RecipientKind
    locale: str | None
    timezone: str | None
    attributes: JsonMap
    tags: list[str]
    addresses: list[RecipientAddressView]
    version: int
    created_at: Moment
    updated_at: Moment


class RecipientQuery(PageQuery):
    """At most one of the filters."""

    id_prefix: Annotated[str, Meta(min_length=1, max_length=128, description="How your id of it begins.")] | None = None
    email: Annotated[str, Meta(max_length=320, description="The whole address.")] | None = None
    phone: Annotated[str, Meta(max_length=64, description="The whole number, with `+`.")] | None = None
    tag: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    list: Annotated[str, Meta(min_length=1, max_length=100, description="The key of a list.")] | None = None


class CertificateShape(Shape):
    """What was destroyed, when and by whom. The signature is over the rest, as JSON with sorted keys and no spaces."""

    id: str
    tenant: str
    subject: Annotated[str, Meta(description="A keyed hash of your id: it proves who was meant without telling.")]
    recipient: Annotated[str, Meta(description="Our own id, as the audit log has it.")]
    erased_at: Annotated[
        str, Meta(description="To the letter as it was signed.", extra_json_schema={"format": "date-time"})
    ]
    erased_by: str
    request_id: str
    destroyed_keys: Annotated[list[str], Meta(description="SHA-256 of each data key, wrapped as it was stored.")]
    destroyed: Annotated[dict[str, int], Meta(description="What went, by name and number.")]
    kept: list[str]
    signature: str


def certificate_view(certificate: Certificate) -> CertificateShape:
    return CertificateShape(
        id=certificate.id,
        tenant=certificate.tenant,
        subject=certificate.subject,
        recipient=certificate.recipient,
        erased_at=certificate.erased_at,
        erased_by=certificate.erased_by,
        request_id=certificate.request_id,
        destroyed_keys=list(certificate.destroyed_keys),
        destroyed=dict(certificate.destroyed),
        kept=list(certificate.kept),
        signature=certificate.signature,
    )


def certificate_of(shown: CertificateShape) -> Certificate:
    return Certificate(
        id=shown.id,
        tenant=shown.tenant,
        subject=shown.subject,
        recipient=shown.recipient,
        erased_at=shown.erased_at,
        erased_by=shown.erased_by,
        request_id=shown.request_id,
        destroyed_keys=tuple(shown.destroyed_keys),
        destroyed=shown.destroyed,
        kept=tuple(shown.kept),
        signature=shown.signature,
    )


def fields_of(change: RecipientChange) -> RecipientFields:
    return RecipientFields(
        kind=change.kind,
        email=change.email,
        phone=change.phone,
        locale=change.locale,
        timezone=change.timezone,
        attributes=change.attributes,
        tags=change.tags,
    )


def filter_of(query: RecipientQuery) -> RecipientFilter:
    return RecipientFilter(
        id_prefix=query.id_prefix, email=query.email, phone=query.phone, tag=query.tag, list_key=query.list
    )


def recipient_view(recipient: Recipient) -> RecipientView:
    return RecipientView(
        id=recipient.id,
        kind=recipient.kind,
        locale=recipient.locale,
        timezone=recipient.timezone,
        attributes=recipient.attributes,
        tags=list(recipient.tags),
        addresses=[address_view(address) for address in recipient.addresses],
        version=recipient.version,
        created_at=recipient.created_at,
        updated_at=recipient.updated_at,
    )


def address_view(address: AddressView) -> RecipientAddressView:
    return RecipientAddressView(
        id=ids.show("adr", address.id),
        channel=address.channel.word,
        masked=address.masked,
        verified=address.verified,
        status=address.status,
        current=address.current,
        created_at=address.created_at,
    )


BODY_EXAMPLE: Final = {
    "email": "ada@example.com",
    "locale": "en-GB",
    "timezone": "Europe/London",
    "attributes": {"first_name": "Ada"},
    "tags": ["beta"],
}
ADDRESS_EXAMPLE: Final = {
    "id": "adr_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "channel": "email",
    "masked": "a***@example.com",
    "verified": False,
    "status": "active",
    "current": True,
    "created_at": "2026-01-15T12:00:00Z",
}
RECIPIENT_EXAMPLE: Final = {
    "id": "user-7",
    "kind": "user",
    "locale": "en-GB",
    "timezone": "Europe/London",
    "attributes": {"first_name": "Ada"},
    "tags": ["beta"],
    "addresses": [ADDRESS_EXAMPLE],
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}
CERTIFICATE_EXAMPLE: Final = {
    "id": "ers_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "tenant": "acme",
    "subject": "sha256:5d3c1f0b2a4e6879a0b1c2d3e4f5061728394a5b6c7d8e9f0a1b2c3d4e5f6071",
    "recipient": "rcp_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "erased_at": "2026-01-15T12:00:00+00:00",
    "erased_by": "key_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "request_id": "rid_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "destroyed_keys": ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    "destroyed": {"data_keys": 1, "addresses": 1},
    "kept": ["keyed hashes of addresses, so that suppressions still hold"],
    "signature": "5d3c1f0b2a4e6879a0b1c2d3e4f5061728394a5b6c7d8e9f0a1b2c3d4e5f6071",
}
FIELD_CODES: Final = [
    "invalid_address",
    "invalid_id",
    "invalid_kind",
    "invalid_locale",
    "invalid_name",
    "invalid_tag",
    "invalid_text",
    "invalid_timezone",
    "recipient_erased",
    "too_deep",
    "too_large",
    "too_many",
    "unknown_recipient",
]
