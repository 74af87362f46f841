"""`waypost send` and `waypost resend`: one message from the shell."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from waypost.cli.options import settable
from waypost.kernel.errors import Refused
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.answers import Accepted, Json, Notification

PENDING: Final = frozenset({"scheduled", "queued", "dispatching"})
_ARRIVED: Final = frozenset({"dispatched", "delivered"})
_NOT_SENT: Final = 1
_Key = Annotated[str | None, typer.Option("--idempotency-key", help="Repeating it sends nothing twice.")]
_Wait = Annotated[float | None, typer.Option(help="Wait up to so many seconds for the end of each.")]
_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


@settable("client")
def send(
    settings: Settings,
    *,
    to: Annotated[list[str], typer.Option(help="An email address or a recipient's id; may be given several times.")],
    subject: Annotated[str | None, typer.Option(help="The subject, with {{ variables }}.")] = None,
    text: Annotated[str | None, typer.Option(help="The text; @file reads a file, - standard input.")] = None,
    html: Annotated[str | None, typer.Option(help="The HTML; @file reads a file, - standard input.")] = None,
    template: Annotated[str | None, typer.Option(help="The key of a published template, in place of content.")] = None,
    var: Annotated[list[str] | None, typer.Option(help="name=value; a value that is JSON is taken as JSON.")] = None,
    category: Annotated[str | None, typer.Option(help="transactional, marketing, …")] = None,
    priority: Annotated[str | None, typer.Option(help="urgent, normal or low.")] = None,
    sender: Annotated[str | None, typer.Option("--from", help="The sender.")] = None,
    reply_to: Annotated[str | None, typer.Option(help="Where answers go.")] = None,
    send_at: Annotated[datetime | None, typer.Option(help="When to send, local time.")] = None,
    key: _Key = None,
    wait: _Wait = None,
    as_json: _Json = False,
) -> None:
    """Send a message and say what became of it."""
    from waypost.cli.connection import with_client
    from waypost.client import Message

    content = {
        name: value
        for name, value in (("subject", subject), ("text", _read(text)), ("html", _read(html)))
        if value is not None
    }
    message = Message(
        to=[_target(one) for one in to],
        content=content or None,
        template=template,
        variables=dict(_variable(one) for one in var or ()) or None,
        category=category,
        priority=priority,
        sender=sender,
        reply_to=reply_to,
        send_at=send_at.astimezone() if send_at else None,
    )

    async def run(client: "Client") -> None:
        accepted = await client.notifications.send(message, idempotency_key=key)
        await _tell(client, accepted, wait, as_json=as_json)

    with_client(settings, run)


@settable("client")
def resend(
    settings: Settings,
    *,
    notification: Annotated[str, typer.Argument(help="The id of a notification that has ended: ntf_…")],
    key: _Key = None,
    wait: _Wait = None,
    as_json: _Json = False,
) -> None:
    """Send a notification again, as a new one with the same content, and say what became of it."""
    from waypost.cli.connection import with_client

    async def run(client: "Client") -> None:
        accepted = await client.notifications.resend(notification, idempotency_key=key)
        await _tell(client, accepted, wait, as_json=as_json)

    with_client(settings, run)


async def _tell(client: "Client", accepted: "Accepted", wait: float | None, *, as_json: bool) -> None:
    from waypost.cli.show import Output

    output = Output(as_json=as_json)
    if wait is None:
        output.many(accepted.notifications, ("id", "recipient_id", "channel", "status", "reason"), empty="")
        return
    ends = await _await_ends(client, [one.id for one in accepted.notifications], wait)
    output.many(ends, ("id", "recipient_id", "channel", "status", "reason", "attempts"), empty="")
    if any(one.status not in _ARRIVED for one in ends):
        raise typer.Exit(_NOT_SENT)


async def _await_ends(client: "Client", ids: list[str], seconds: float) -> list["Notification"]:
    from waypost.kernel.clock import SystemClock

    clock = SystemClock()
    deadline = clock.monotonic() + seconds
    while True:
        found = [await client.notifications.get(one) for one in ids]
        if all(one.status not in PENDING for one in found) or clock.monotonic() >= deadline:
            return found
        await clock.sleep(0.1)


def _target(text: str) -> "str | dict[str, Json]":
    return {"email": text} if "@" in text else text


def _variable(text: str) -> "tuple[str, Json]":
    import msgspec

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Refused("Write --var as name=value.")
    try:
        return name, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return name, value


def _read(given: str | None) -> str | None:
    if given == "-":
        return sys.stdin.read()
    if given is not None and given.startswith("@"):
        try:
            return Path(given[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{given[1:]} cannot be read: {type(error).__name__}.") from None
    return given
