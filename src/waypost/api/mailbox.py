"""What the catch-all received for the tenant. Mounted only where it runs."""

from typing import Annotated, Any, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, Raw, endpoint
from waypost.api.shapes import Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.kernel import ids
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import Permission
from waypost.mailbox.read import Mailbox

_MESSAGE: Final = "message/rfc822"


class MailView(Shape):
    id: str
    to: Annotated[str, Meta(description="All it went to, with commas between them.")]
    subject: str
    received_at: Moment


_MAIL: Final = {
    "id": "mbx_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "to": "jane@example.com",
    "subject": "Hello Jane",
    "received_at": "2026-01-15T12:00:00Z",
}


@endpoint(
    "GET",
    "/v1/mailbox",
    Permission.MAILBOX_READ,
    summary="List what the catch-all received",
    query=PageQuery,
    answer=Listing[MailView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_MAIL], "next": None},
)
async def list_mailbox(call: Call[NoBody, PageQuery]) -> Listing[MailView]:
    """Newest first. Only where the catch-all mailbox runs."""
    page = await _mailbox(call).page(call.tx, call.scope, cursor=call.query.cursor, limit=call.query.limit)
    shown = [
        MailView(id=ids.show("mbx", entry.id), to=entry.to, subject=entry.subject, received_at=entry.received_at)
        for entry in page.items
    ]
    return Listing(items=shown, next=page.next)


@endpoint(
    "GET",
    "/v1/mailbox/{id}",
    Permission.MAILBOX_READ,
    summary="Read a message as it came over SMTP",
    media_type=_MESSAGE,
)
async def get_mail(call: Call[NoBody, NoQuery]) -> Raw:
    """The raw message, byte for byte."""
    return Raw(content=await _mailbox(call).raw(call.tx, call.scope, call.id("mbx")), media_type=_MESSAGE)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_mailbox, get_mail)


def _mailbox(call: Call[Any, Any]) -> Mailbox:
    if call.app.mailbox is None:
        raise NotFound("The catch-all mailbox does not run here.")
    return call.app.mailbox
