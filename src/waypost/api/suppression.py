"""Addresses that must not be written to."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, Raw, endpoint
from waypost.api.shapes import ChannelWord, Listing, Moment, NoBody, NoQuery, PageQuery, Shape, ShownChannel
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS
from waypost.suppression.desk import Order, Wanted
from waypost.suppression.model import Suppression, SuppressionReason


class NewSuppression(Shape):
    address: Annotated[str, Meta(examples=["noreply@example.com"])]
    channel: ChannelWord = "email"
    reason: SuppressionReason = SuppressionReason.MANUAL
    expires_at: Annotated[Moment, Meta(description="Null: until it is released.")] | None = None
    topic: (
        Annotated[str, Meta(max_length=64, description="Of an opt-out: one of your topics; null for all marketing.")]
        | None
    ) = None
    notes: Annotated[str, Meta(max_length=1000)] | None = None


class SuppressionQuery(PageQuery):
    channel: ChannelWord | None = None
    reason: SuppressionReason | None = None
    address: Annotated[str, Meta(max_length=320, description="Of `channel`, else of email.")] | None = None


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
    released_by: Annotated[str, Meta(description="The key, or the recipient's own word.")] | None
    topic: Annotated[str, Meta(description="Of an opt-out; null for all marketing.")] | None
    notes: str | None


class SuppressionsCsv(Shape):
    csv: Annotated[
        str,
        Meta(
            max_length=1_000_000,
            description="The first line names the columns: address, channel, reason, topic, expires_at, notes.",
        ),
    ]


class RowFault(Shape):
    row: int
    code: str
    message: str


class ImportView(Shape):
    taken: int
    refused: int
    faults: Annotated[list[RowFault], Meta(description="The first hundred.")]
    ignored_columns: list[str]


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
    "released_by": None,
    "topic": None,
    "notes": None,
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
    refusals={422: ["in_the_past", "invalid_address", "not_an_opt_out", "unknown_topic"]},
    body_example={"channel": "email", "address": "noreply@example.com", "reason": "manual"},
    answer_example=_SUPPRESSION,
)
async def create_suppression(call: Call[NewSuppression, NoQuery]) -> SuppressionView:
    """Answers what is in force now: a graver reason that stands is kept, and nothing ends sooner than it did.

    A platform key that names no tenant suppresses for all of them."""
    new = call.body
    order = Order(
        channel=CHANNELS[new.channel],
        address=new.address,
        reason=new.reason,
        expires_at=new.expires_at,
        notes=new.notes,
        topic=new.topic,
    )
    return _suppression(await call.app.suppressions.suppress(call.tx, call.scope, order))


@endpoint(
    "GET",
    "/v1/suppressions",
    Permission.SUPPRESSIONS_READ,
    summary="List suppressions",
    query=SuppressionQuery,
    answer=Listing[SuppressionView],
    refusals={400: ["invalid_cursor"], 422: ["invalid_address"]},
    answer_example={"items": [_SUPPRESSION], "next": None},
)
async def list_suppressions(call: Call[NoBody, SuppressionQuery]) -> Listing[SuppressionView]:
    """Those in force, newest first. Addresses are masked; `address` asks whether one is suppressed."""
    query = call.query
    channel = None if query.channel is None else CHANNELS[query.channel]
    wanted = Wanted(channel=channel, reason=query.reason, address=query.address)
    page = await call.app.suppressions.page(call.tx, call.scope, query.cursor, query.limit, wanted)
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


@endpoint(
    "GET",
    "/v1/suppressions/{id}",
    Permission.SUPPRESSIONS_READ,
    summary="Read a suppression",
    answer=SuppressionView,
    answer_example=_SUPPRESSION,
)
async def get_suppression(call: Call[NoBody, NoQuery]) -> SuppressionView:
    """Also one that was released: it stays as the record of who took it back."""
    return _suppression(await call.app.suppressions.get(call.tx, call.scope, call.id("sup")))


@endpoint(
    "POST",
    "/v1/suppressions/import",
    Permission.SUPPRESSIONS_WRITE,
    summary="Import suppressions",
    body=SuppressionsCsv,
    answer=ImportView,
    audited=True,
    refusals={422: ["invalid_csv", "missing_column", "too_many"]},
    body_example={"csv": "address,reason\nnoreply@example.com,manual\n"},
    answer_example={"taken": 1, "refused": 0, "faults": [], "ignored_columns": []},
)
async def import_suppressions(call: Call[SuppressionsCsv, NoQuery]) -> ImportView:
    """Up to 10,000 rows. Good rows are kept, bad ones reported; nothing is ever released this way."""
    taken = await call.app.wishes.suppression_table.take_in(call.tx, call.scope, call.body.csv)
    return ImportView(
        taken=taken.taken,
        refused=taken.refused,
        faults=[RowFault(row=fault.row, code=fault.code, message=fault.message) for fault in taken.faults],
        ignored_columns=list(taken.ignored),
    )


@endpoint(
    "GET",
    "/v1/suppressions/export",
    Permission.SUPPRESSIONS_READ,
    summary="Export suppressions",
    media_type="text/csv",
)
async def export_suppressions(call: Call[NoBody, NoQuery]) -> Raw:
    """The newest 100,000 in force, as CSV that no spreadsheet runs. Addresses are masked: only hashes are kept."""
    text = await call.app.wishes.suppression_table.give_out(call.tx, call.scope)
    return Raw(content=text.encode(), media_type="text/csv")


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_suppression,
    list_suppressions,
    import_suppressions,
    export_suppressions,
    get_suppression,
    release_suppression,
)


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
        released_by=suppression.released_by,
        topic=suppression.topic or None,
        notes=suppression.notes,
    )
