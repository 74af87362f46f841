"""The addresses and tags of one recipient."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.recipient_shapes import (
    ADDRESS_EXAMPLE,
    AddressesView,
    RecipientAddressView,
    Tag,
    address_view,
)
from waypost.api.shapes import NoBody, NoQuery, Shape
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS
from waypost.recipients.model import NewAddress


class AddressGiven(Shape):
    channel: Literal["email", "sms", "whatsapp", "voice"]
    address: Annotated[str, Meta(max_length=320, examples=["ada@example.com"])]
    verified: Annotated[bool, Meta(description="The person has shown that it is theirs.")] = False
    current: Annotated[bool, Meta(description="Used from now on.")] = True


class AddressChange(Shape):
    verified: bool | None = None
    current: Annotated[Literal[True], Meta(description="Used from now on.")] | None = None


class TagsShape(Shape):
    tags: list[Tag]


_ADDRESS_CODES: Final = ["invalid_address", "too_many"]
_TAGS: Final = {"tags": ["beta", "vip"]}


@endpoint(
    "GET",
    "/v1/recipients/{id}/addresses",
    Permission.RECIPIENTS_READ,
    summary="List a recipient's addresses",
    answer=AddressesView,
    answer_example={"items": [ADDRESS_EXAMPLE], "next": None},
)
async def list_addresses(call: Call[NoBody, NoQuery]) -> AddressesView:
    """Masked, the newest given first. Of each channel, the current one is used."""
    found = await call.app.recipients.addresses(call.tx, call.scope, call.path["id"])
    return AddressesView(items=[address_view(address) for address in found])


@endpoint(
    "POST",
    "/v1/recipients/{id}/addresses",
    Permission.RECIPIENTS_WRITE,
    summary="Add an address",
    body=AddressGiven,
    answer=RecipientAddressView,
    status=201,
    audited=True,
    refusals={422: _ADDRESS_CODES},
    body_example={"channel": "email", "address": "ada@example.com", "verified": True},
    answer_example=ADDRESS_EXAMPLE,
)
async def add_address(call: Call[AddressGiven, NoQuery]) -> RecipientAddressView:
    """Adding one that is there already changes only what is said about it. Others stay; up to ten on a channel."""
    given = call.body
    new = NewAddress(
        channel=CHANNELS[given.channel], text=given.address, verified=given.verified, current=given.current
    )
    return address_view(await call.app.people.addresses.add(call.tx, call.scope, call.path["id"], new))


@endpoint(
    "PATCH",
    "/v1/recipients/{id}/addresses/{address_id}",
    Permission.RECIPIENTS_WRITE,
    summary="Verify an address, or make it the current one",
    body=AddressChange,
    answer=RecipientAddressView,
    audited=True,
    body_example={"verified": True, "current": True},
    answer_example=ADDRESS_EXAMPLE,
)
async def change_address(call: Call[AddressChange, NoQuery]) -> RecipientAddressView:
    """What is left out stays as it is."""
    changed = await call.app.people.addresses.change(
        call.tx,
        call.scope,
        call.path["id"],
        call.id("adr", "address_id"),
        verified=call.body.verified,
        current=call.body.current is True,
    )
    return address_view(changed)


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
    await call.app.people.addresses.revoke(call.tx, call.scope, call.path["id"], call.id("adr", "address_id"))


@endpoint(
    "GET",
    "/v1/recipients/{id}/tags",
    Permission.RECIPIENTS_READ,
    summary="Read a recipient's tags",
    answer=TagsShape,
    answer_example=_TAGS,
)
async def get_tags(call: Call[NoBody, NoQuery]) -> TagsShape:
    """In the order of the alphabet."""
    return TagsShape(tags=list(await call.app.people.tags.get(call.tx, call.scope, call.path["id"])))


@endpoint(
    "PUT",
    "/v1/recipients/{id}/tags",
    Permission.RECIPIENTS_WRITE,
    summary="Set a recipient's tags",
    body=TagsShape,
    answer=TagsShape,
    audited=True,
    refusals={422: ["invalid_tag", "too_many"]},
    body_example=_TAGS,
    answer_example=_TAGS,
)
async def set_tags(call: Call[TagsShape, NoQuery]) -> TagsShape:
    """These and no others."""
    tags = await call.app.people.tags.set(call.tx, call.scope, call.path["id"], call.body.tags)
    return TagsShape(tags=list(tags))


@endpoint(
    "POST",
    "/v1/recipients/{id}/tags",
    Permission.RECIPIENTS_WRITE,
    summary="Add tags to a recipient",
    body=TagsShape,
    answer=TagsShape,
    audited=True,
    refusals={422: ["invalid_tag", "too_many"]},
    body_example=_TAGS,
    answer_example=_TAGS,
)
async def add_tags(call: Call[TagsShape, NoQuery]) -> TagsShape:
    """Beside those that are there."""
    tags = await call.app.people.tags.add(call.tx, call.scope, call.path["id"], call.body.tags)
    return TagsShape(tags=list(tags))


@endpoint(
    "DELETE",
    "/v1/recipients/{id}/tags/{tag}",
    Permission.RECIPIENTS_WRITE,
    summary="Remove a tag from a recipient",
    answer=TagsShape,
    audited=True,
    answer_example=_TAGS,
)
async def remove_tag(call: Call[NoBody, NoQuery]) -> TagsShape:
    """Answers with those that are left."""
    tags = await call.app.people.tags.remove(call.tx, call.scope, call.path["id"], call.path["tag"])
    return TagsShape(tags=list(tags))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    list_addresses,
    add_address,
    change_address,
    revoke_address,
    get_tags,
    set_tags,
    add_tags,
    remove_tag,
)
