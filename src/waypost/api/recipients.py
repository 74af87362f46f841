"""The people who are reached."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.recipient_shapes import (
    BODY_EXAMPLE,
    CERTIFICATE_EXAMPLE,
    FIELD_CODES,
    RECIPIENT_EXAMPLE,
    CertificateShape,
    RecipientChange,
    RecipientQuery,
    RecipientView,
    certificate_view,
    fields_of,
    filter_of,
    recipient_view,
)
from waypost.api.shapes import Listing, NoBody, NoQuery, Shape
from waypost.kernel.tenancy import Permission
from waypost.recipients.model import Recipient


class MergeOrder(Shape):
    source: Annotated[
        str, Meta(max_length=128, description="Your id of the recipient that becomes part of this one.")
    ] = field(name="from")


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
    body_example=BODY_EXAMPLE,
    answer_example=RECIPIENT_EXAMPLE,
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
    answer_example=RECIPIENT_EXAMPLE,
)
async def get_recipient(call: Call[NoBody, NoQuery]) -> Versioned:
    """Addresses are shown masked. The id of one that was merged shows the one it became."""
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
    answer_example=RECIPIENT_EXAMPLE,
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
    answer=CertificateShape,
    audited=True,
    refusals={409: ["changed_meanwhile"]},
    answer_example=CERTIFICATE_EXAMPLE,
)
async def erase_recipient(call: Call[NoBody, NoQuery]) -> CertificateShape:
    """Destroys the recipient's key: attributes, addresses and message contents can never be read again. Answers with a
    signed certificate; the same one when it is asked again."""
    return certificate_view(await call.app.people.erase(call.tx, call.scope, call.path["id"]))


@endpoint(
    "POST",
    "/v1/recipients/{id}/merge",
    Permission.RECIPIENTS_WRITE,
    summary="Merge another recipient into this one",
    body=MergeOrder,
    answer=RecipientView,
    versioned=True,
    audited=True,
    refusals={
        409: ["changed_meanwhile"],
        422: ["unknown_recipient", "same_recipient", "too_many", "too_large", "too_deep"],
    },
    body_example={"from": "visitor-81"},
    answer_example=RECIPIENT_EXAMPLE,
)
async def merge_recipient(call: Call[MergeOrder, NoQuery]) -> Versioned:
    """Addresses, tags, lists, preferences and messages come together; of what both say, this one's word holds, and of
    preferences the stricter. The other id leads here from now on."""
    return _versioned(await call.app.people.absorb(call.tx, call.scope, call.path["id"], call.body.source))


@endpoint(
    "GET",
    "/v1/recipients",
    Permission.RECIPIENTS_READ,
    summary="List or find recipients",
    query=RecipientQuery,
    answer=Listing[RecipientView],
    refusals={400: ["invalid_cursor"], 422: ["invalid_address", "one_filter_only", "unknown_list"]},
    answer_example={"items": [RECIPIENT_EXAMPLE], "next": None},
)
async def list_recipients(call: Call[NoBody, RecipientQuery]) -> Listing[RecipientView]:
    """Newest first, without those that were erased. By the beginning of the id, in the order of ids."""
    page = await call.app.people.search.page(
        call.tx, call.scope, call.query.cursor, call.query.limit, filter_of(call.query)
    )
    return Listing(items=[recipient_view(recipient) for recipient in page.items], next=page.next)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    put_recipient,
    get_recipient,
    change_recipient,
    erase_recipient,
    merge_recipient,
    list_recipients,
)


def _versioned(recipient: Recipient) -> Versioned:
    return Versioned(body=recipient_view(recipient), version=recipient.version)
