"""Addresses that must not be written to."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import ChannelWord, Listing, Moment, NoBody, NoQuery, PageQuery, Shape, ShownChannel
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS
from waypost.suppression.model import Suppression, SuppressionReason


class NewSuppression(Shape):
    address: Annotated[str, Meta(examples=["noreply@example.com"])]
    channel: ChannelWord = "email"
    reason: SuppressionReason = SuppressionReason.MANUAL
    expires_at: Moment | None = None


class SuppressionView(Shape):
    id: str
    channel: ShownChannel
    address: Annotated[str, Meta(description="Masked.")]
    reason: SuppressionReason
    source: str
    notification_id: Annotated[str, Meta(description="The message that brought the news, if one did.")] | None
    created_at: Moment
    expires_at: Moment | None
    released_at: Moment | None


_SUPPRESSION: Final = {
    "id": "sup_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "channel": "email",
    "address": "n***@example.com",
    "reason": "manual",
    "source": "api:key_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "notification_id": None,
    "created_at": "2026-01-15T12:00:00Z",
    "expires_at": None,
    "released_at": None,
}


@endpoint(
    "POST",
    "/v1/suppressions",
    Permission.SUPPRESSIONS_WRITE,
    summary="Suppress an address",
    body=NewSuppression,
    answer=SuppressionView,
    status=201,
    audited=True,
    refusals={422: ["in_the_past", "invalid_address"]},
    body_example={"channel": "email", "address": "noreply@example.com", "reason": "manual"},
    answer_example=_SUPPRESSION,
)
async def create_suppression(call: Call[NewSuppression, NoQuery]) -> SuppressionView:
    """Answers what is in force now: a graver reason that stands is kept."""
    new = call.body
    standing = await call.app.suppressions.suppress(
        call.tx,
        call.scope,
        channel=CHANNELS[new.channel],
        address=new.address,
        reason=new.reason,
        expires_at=new.expires_at,
    )
    return _suppression(standing)


@endpoint(
    "GET",
    "/v1/suppressions",
    Permission.SUPPRESSIONS_READ,
    summary="List suppressions",
    query=PageQuery,
    answer=Listing[SuppressionView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_SUPPRESSION], "next": None},
)
async def list_suppressions(call: Call[NoBody, PageQuery]) -> Listing[SuppressionView]:
    """Those in force, newest first. Addresses are masked."""
    page = await call.app.suppressions.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_suppression(suppression) for suppression in page.items], next=page.next)


@endpoint(
    "DELETE",
    "/v1/suppressions/{id}",
    Permission.SUPPRESSIONS_WRITE,
    summary="Release a suppression",
    status=204,
    audited=True,
    refusals={409: ["own_opt_out"]},
)
async def release_suppression(call: Call[NoBody, NoQuery]) -> None:
    """The record of it stays, with who released it. An opt-out is the recipient's own to take back."""
    await call.app.suppressions.release(call.tx, call.scope, call.id("sup"))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (create_suppression, list_suppressions, release_suppression)


def _suppression(suppression: Suppression) -> SuppressionView:
    return SuppressionView(
        id=ids.show("sup", suppression.id),
        channel=suppression.channel.word,
        address=suppression.masked,
        reason=suppression.reason,
        source=suppression.source,
        notification_id=ids.show("ntf", suppression.notification_id) if suppression.notification_id else None,
        created_at=suppression.created_at,
        expires_at=suppression.expires_at,
        released_at=suppression.released_at,
    )
