"""`waypost tail`: notifications and their states, as they happen."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from waypost.cli.options import settable
from waypost.cli.send import PENDING
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.cli.show import Output
    from waypost.client import Client
    from waypost.client.answers import Notification

_EVERY_SECONDS: Final = 0.5
_LONGEST_LOOK_BACK: Final = 500
_MOST_FOLLOWED: Final = 200


@settable("client")
def tail(
    settings: Settings,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, max=100, help="How many to show first.")] = 10,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many lines.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Follow new notifications and what becomes of them, until Ctrl-C."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output
    from waypost.kernel.clock import SystemClock

    clock = SystemClock()
    follower = Follower(Output(as_json=as_json), most=count)

    async def run(client: "Client") -> None:
        await follower.begin(client, lines)
        while not follower.done:
            await clock.sleep(_EVERY_SECONDS)
            await follower.look(client)

    with_client(settings, run)


class Follower:
    """Prints a line for each new notification and for each change of one that has not ended."""

    def __init__(self, output: "Output", *, most: int | None = None) -> None:
        self._output = output
        self._left = most
        self._newest = ""
        self._pending: dict[str, str] = {}

    @property
    def done(self) -> bool:
        return self._left == 0

    async def begin(self, client: "Client", lines: int) -> None:
        found: list[Notification] = []
        async for one in client.notifications.list(page_size=max(1, lines)):
            self._newest = max(self._newest, one.id)
            if len(found) == lines:
                break
            found.append(one)
        for one in reversed(found):
            self._tell(one)

    async def look(self, client: "Client") -> None:
        fresh: list[Notification] = []
        seen: set[str] = set()
        async for one in client.notifications.list(page_size=50):
            if one.id <= self._newest or len(fresh) == _LONGEST_LOOK_BACK:
                break
            fresh.append(one)
            seen.add(one.id)
        for known in [known for known in self._pending if known not in seen][-_MOST_FOLLOWED:]:
            one = await client.notifications.get(known)
            if one.status != self._pending[known]:
                self._tell(one)
        for one in reversed(fresh):
            self._newest = max(self._newest, one.id)
            self._tell(one)

    def _tell(self, one: "Notification") -> None:
        if one.status in PENDING:
            self._pending[one.id] = one.status
        else:
            self._pending.pop(one.id, None)
        if self.done:
            return
        self._output.event(
            {
                "created_at": one.created_at,
                "id": one.id,
                "recipient_id": one.recipient_id,
                "channel": one.channel,
                "status": one.status,
                "reason": one.reason,
            }
        )
        if self._left is not None:
            self._left -= 1
