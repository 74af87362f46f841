"""`waypost mailbox`: what the catch-all received."""

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.answers import CaughtMail

app = typer.Typer(help="Look into the catch-all mailbox of `waypost up`.", no_args_is_help=True)


@app.command("list")
@settable("client")
def show_list(
    settings: Settings,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List the messages, newest first."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found: list[CaughtMail] = []
        async for mail in client.mailbox.list(page_size=min(limit, 100)):
            if len(found) == limit:
                break
            found.append(mail)
        columns = ("id", "to", "subject", "received_at")
        Output(as_json=as_json).many(found, columns, empty="The mailbox is empty.")

    with_client(settings, run)


@app.command("show")
@settable("client")
def show_one(
    settings: Settings, *, mail_id: Annotated[str, typer.Argument(metavar="ID", help="As `mailbox list` shows it.")]
) -> None:
    """Print one message as it came over SMTP."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        Output(as_json=False).bytes(await client.mailbox.raw(mail_id))

    with_client(settings, run)
