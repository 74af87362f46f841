"""`waypost events`, `waypost triggers`, `waypost timers`: tell an event, and see what waits."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from waypost.cli.options import settable
from waypost.kernel.errors import refuse
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.answers import Json

events = typer.Typer(help="Events: what your product tells.", no_args_is_help=True)
triggers = typer.Typer(help="Triggers: what an event starts.", no_args_is_help=True)
timers = typer.Typer(help="Timers: what waits for its time.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


@events.command("send")
@settable("client")
def send_event(
    settings: Settings,
    *,
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="As in `booking.created`.")],
    event_id: Annotated[str, typer.Option("--id", help="Yours; the same id again changes nothing.")],
    data: Annotated[str, typer.Option(help="A JSON object.")] = "{}",
    as_json: _Json = False,
) -> None:
    """Tell an event that has happened just now."""
    import msgspec

    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    try:
        found = msgspec.json.decode(data, type=dict[str, object])
    except msgspec.DecodeError:
        raise refuse("/data", "invalid_json", "--data must be a JSON object.") from None

    async def run(client: "Client") -> None:
        taken = await client.events.tell(kind, event_id, cast("dict[str, Json]", found))
        Output(as_json=as_json).one(taken, title="Taken in.")

    with_client(settings, run)


@triggers.command("list")
@settable("client")
def list_triggers(settings: Settings, *, as_json: _Json = False) -> None:
    """List the triggers, the platform's among them."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.triggers.list(page_size=100)]
        columns = ("id", "scope", "enabled", "event_type", "template", "recipient", "offset", "reschedules", "cancels")
        Output(as_json=as_json).many(found, columns, empty="There are no triggers.")

    with_client(settings, run)


@timers.command("list")
@settable("client")
def list_timers(
    settings: Settings,
    *,
    recipient: Annotated[str | None, typer.Option(help="Your id of the recipient.")] = None,
    subject: Annotated[str | None, typer.Option(help="What the timers are about.")] = None,
    state: Annotated[str | None, typer.Option(help="pending, moved, fired, cancelled or skipped.")] = None,
    as_json: _Json = False,
) -> None:
    """List timers, newest first, with what became of them."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        listed = client.timers.list(recipient=recipient, subject_key=subject, state=state, page_size=100)
        found = [one async for one in listed]
        columns = ("id", "kind", "state", "reason", "due", "recipient", "subject_key")
        Output(as_json=as_json).many(found, columns, empty="There are no timers.")

    with_client(settings, run)
