"""A message was read, as the product itself knows: what goes on until seen ends."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import NoBody, NoQuery, Shape
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission

_ID: Final = "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"


class SeenView(Shape):
    id: str
    escalation_ended: Annotated[bool, Meta(description="Whether another channel would have followed.")]
    cancelled: Annotated[list[str], Meta(description="Messages on other channels that had not gone out yet.")]


@endpoint(
    "POST",
    "/v1/notifications/{id}/seen",
    Permission.NOTIFICATIONS_SEND,
    summary="Report that a notification was seen",
    answer=SeenView,
    refusals={403: ["tenant_onboarding"]},
    answer_example={"id": _ID, "escalation_ended": True, "cancelled": []},
)
async def report_seen(call: Call[NoBody, NoQuery]) -> SeenView:
    """Of a call with `routing: until_seen`: the channels that are left are not used any more. Of any other it is only
    noted in the timeline."""
    notification_id = call.id("ntf")
    seen = await call.app.events.escalations.report_seen(call.tx, call.scope, notification_id)
    return SeenView(
        id=ids.show("ntf", notification_id),
        escalation_ended=seen.escalation_ended,
        cancelled=[ids.show("ntf", one) for one in seen.cancelled],
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (report_seen,)
