"""Channels: how each one's messages leave."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import NoBody, NoQuery, Shape, ShownChannel
from waypost.kernel.tenancy import Permission
from waypost.senders.ways import WayOut


class ChannelView(Shape):
    channel: ShownChannel
    way: Annotated[
        WayOut,
        Meta(
            description="`catch_all`: nothing leaves, see the mailbox. `platform`: the installation's own server."
            " `accounts`: the tenant's sender accounts. `inbox`: into inboxes here. `none`: no way yet."
        ),
    ]
    sender_accounts: int
    able: Annotated[int, Meta(description="Accounts that are neither paused nor suspended.")]


class Channels(Shape):
    items: list[ChannelView]
    next: None = None


@endpoint(
    "GET",
    "/v1/channels",
    Permission.SENDERS_READ,
    summary="List channels",
    answer=Channels,
    answer_example={
        "items": [
            {"channel": "email", "way": "accounts", "sender_accounts": 2, "able": 2},
            {"channel": "inapp", "way": "inbox", "sender_accounts": 0, "able": 0},
        ],
        "next": None,
    },
)
async def list_channels(call: Call[NoBody, NoQuery]) -> Channels:
    """Every channel, and how its messages leave this tenant now."""
    found = await call.app.senders.ways(call.tx, call.scope)
    return Channels(
        items=[
            ChannelView(channel=one.channel.word, way=one.way, sender_accounts=one.accounts, able=one.able)
            for one in found
        ]
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_channels,)
