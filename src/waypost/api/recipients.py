"""The people who are reached."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import JsonMap, Listing, Moment, NoBody, NoQuery, PageQuery, Shape, ShownChannel
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission
from waypost.recipients.model import AddressStatus, AddressView, Recipient, RecipientFields, RecipientKind

Email = Annotated[str, Meta(description="Kept in lower case, the domain in ASCII.", examples=["jane@example.com"])]
Phone = Annotated[str, Meta(description="With `+` and the country's code.", examples=["+14155550123"])]
Locale = Annotated[str, Meta(description="A language tag.", examples=["de-AT"])]
Timezone = Annotated[str, Meta(description="Of the IANA database.", examples=["Europe/Vienna"])]
Attributes = Annotated[JsonMap, Meta(description="Merged key by key; a key with the value null is removed.")]


class RecipientChange(Shape):
    """What is left out stays as it is; null removes it."""

    kind: RecipientKind | UnsetType = UNSET
    email: Email | UnsetType | None = UNSET
    phone: Phone | UnsetType | None = UNSET
    locale: Locale | UnsetType | None = UNSET
    timezone: Timezone | UnsetType | None = UNSET
    attributes: Attributes | UnsetType | None = UNSET


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


class RecipientView(Shape):
    id: str
    kind: RecipientKind
    locale: str | None
    timezone: str | None
    attributes: JsonMap
    addresses: list[RecipientAddressView]
    version: int
    created_at: Moment
    updated_at: Moment


def fields_of(change: RecipientChange) -> RecipientFields:
    return RecipientFields(
        kind=change.kind,
        email=change.email,
        phone=change.phone,
        locale=change.locale,
        timezone=change.timezone,
        attributes=change.attributes,
    )


_BODY: Final = {
    "email": "ada@example.com",
    "locale": "en-GB",
    "timezone": "Europe/London",
    "attributes": {"first_name": "Ada"},
}
_ADDRESS: Final = {
    "id": "adr_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "channel": "email",
    "masked": "a***@example.com",
    "verified": False,
    "status": "active",
    "current": True,
    "created_at": "2026-01-15T12:00:00Z",
}
_RECIPIENT: Final = {
    "id": "user-7",
    "kind": "user",
    "locale": "en-GB",
    "timezone": "Europe/London",
    "attributes": {"first_name": "Ada"},
    "addresses": [_ADDRESS],
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}
FIELD_CODES: Final = [
    "invalid_address",
    "invalid_id",
    "invalid_kind",
    "invalid_locale",
    "invalid_name",
    "invalid_text",
    "invalid_timezone",
    "recipient_erased",
    "too_deep",
    "too_large",
    "too_many",
    "unknown_recipient",
]


@endpoint(
    "PUT",
    "/v1/recipients/{id}",
    Permission.RECIPIENTS_WRITE,
    summary="Make or change a recipient",
    body=RecipientChange,
    answer=RecipientView,
    versioned=True,
    audited=True,
    refusals={409: ["recipient_erased"], 422: FIELD_CODES},
    body_example=_BODY,
    answer_example=_RECIPIENT,
)
async def put_recipient(call: Call[RecipientChange, NoQuery]) -> Versioned:
    """Makes the recipient of this id, or merges into the one that is there. The id is yours to choose."""
    put = await call.app.recipients.put(
        call.tx, call.scope, call.path["id"], fields_of(call.body), version=call.expected_version
    )
    return _versioned(put.recipient)


@endpoint(
    "GET",
    "/v1/recipients/{id}",
    Permission.RECIPIENTS_READ,
    summary="Read a recipient",
    answer=RecipientView,
    versioned=True,
    answer_example=_RECIPIENT,
)
async def get_recipient(call: Call[NoBody, NoQuery]) -> Versioned:
    """Addresses are shown masked."""
    return _versioned(await call.app.recipients.get(call.tx, call.scope, call.path["id"]))


@endpoint(
    "PATCH",
    "/v1/recipients/{id}",
    Permission.RECIPIENTS_WRITE,
    summary="Change a recipient",
    body=RecipientChange,
    answer=RecipientView,
    versioned=True,
    audited=True,
    refusals={422: FIELD_CODES},
    body_example={"timezone": None, "attributes": {"city": "London"}},
    answer_example=_RECIPIENT,
)
async def change_recipient(call: Call[RecipientChange, NoQuery]) -> Versioned:
    """Like PUT, for a recipient that is there already."""
    changed = await call.app.recipients.patch(
        call.tx, call.scope, call.path["id"], fields_of(call.body), version=call.expected_version
    )
    return _versioned(changed)


@endpoint(
    "DELETE",
    "/v1/recipients/{id}",
    Permission.RECIPIENTS_WRITE,
    summary="Erase a recipient",
    status=204,
    audited=True,
)
async def erase_recipient(call: Call[NoBody, NoQuery]) -> None:
    """Destroys the recipient's key: attributes, addresses and message contents can never be read again."""
    await call.app.recipients.erase(call.tx, call.scope, call.path["id"])


@endpoint(
    "GET",
    "/v1/recipients",
    Permission.RECIPIENTS_READ,
    summary="List recipients",
    query=PageQuery,
    answer=Listing[RecipientView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_RECIPIENT], "next": None},
)
async def list_recipients(call: Call[NoBody, PageQuery]) -> Listing[RecipientView]:
    """Newest first, without those that were erased."""
    page = await call.app.recipients.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_recipient(recipient) for recipient in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/recipients/{id}/addresses",
    Permission.RECIPIENTS_READ,
    summary="List a recipient's addresses",
    answer=AddressesView,
    answer_example={"items": [_ADDRESS]},
)
async def list_addresses(call: Call[NoBody, NoQuery]) -> AddressesView:
    """Masked, the newest given first. Of each channel, the current one is used."""
    found = await call.app.recipients.addresses(call.tx, call.scope, call.path["id"])
    return AddressesView(items=[_address(address) for address in found])


@endpoint(
    "DELETE",
    "/v1/recipients/{id}/addresses/{address_id}",
    Permission.RECIPIENTS_WRITE,
    summary="Remove an address",
    status=204,
    audited=True,
)
async def revoke_address(call: Call[NoBody, NoQuery]) -> None:
    """It is no longer used. The one given before it on the same channel becomes current."""
    await call.app.recipients.revoke_address(call.tx, call.scope, call.path["id"], call.id("adr", "address_id"))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    put_recipient,
    get_recipient,
    change_recipient,
    erase_recipient,
    list_recipients,
    list_addresses,
    revoke_address,
)


def _versioned(recipient: Recipient) -> Versioned:
    return Versioned(body=_recipient(recipient), version=recipient.version)


def _recipient(recipient: Recipient) -> RecipientView:
    return RecipientView(
        id=recipient.id,
        kind=recipient.kind,
        locale=recipient.locale,
        timezone=recipient.timezone,
        attributes=recipient.attributes,
        addresses=[_address(address) for address in recipient.addresses],
        version=recipient.version,
        created_at=recipient.created_at,
        updated_at=recipient.updated_at,
    )


def _address(address: AddressView) -> RecipientAddressView:
    return RecipientAddressView(
        id=ids.show("adr", address.id),
        channel=address.channel.word,
        masked=address.masked,
        verified=address.verified,
        status=address.status,
        current=address.current,
        created_at=address.created_at,
    )
