"""`waypost webhooks`: endpoints, tests and the log of deliveries from the shell."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.webhook_answers import WebhookDelivery

app = typer.Typer(help="Webhook endpoints: who is told what has happened.", no_args_is_help=True)

_Id = Annotated[str, typer.Argument(metavar="ID", help="As `webhooks list` shows it.")]
_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


@app.command("create")
@settable("client")
def create(
    settings: Settings,
    *,
    target: Annotated[str, typer.Argument(metavar="URL", help="Where events go: https, and public.")],
    event: Annotated[list[str] | None, typer.Option(help="May be repeated: `notification.*`; all without it.")] = None,
    description: Annotated[str, typer.Option(help="For people.")] = "",
    as_json: _Json = False,
) -> None:
    """Make an endpoint. Its secret is shown this once."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        made = await client.webhooks.create(target, events=event or ["*"], description=description)
        Output(as_json=as_json).one(made, title="Keep the secret: it is shown only now.")

    with_client(settings, run)


@app.command("list")
@settable("client")
def show_list(settings: Settings, *, as_json: _Json = False) -> None:
    """List the endpoints, newest first."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.webhooks.list(page_size=100)]
        columns = ("id", "status", "url", "events", "failing_since", "disabled_reason")
        Output(as_json=as_json).many(found, columns, empty="There are no webhook endpoints.")

    with_client(settings, run)


@app.command("test")
@settable("client")
def send_test(settings: Settings, *, endpoint_id: _Id, as_json: _Json = False) -> None:
    """Send a test event. `webhooks deliveries` shows how it went."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        Output(as_json=as_json).one(await client.webhooks.test(endpoint_id), title="On its way.")

    with_client(settings, run)


@app.command("deliveries")
@settable("client")
def deliveries(
    settings: Settings,
    *,
    endpoint_id: _Id,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show at most.")] = 20,
    status: Annotated[str | None, typer.Option(help="waiting, delivered or failed.")] = None,
    as_json: _Json = False,
) -> None:
    """List what an endpoint was told, newest first."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found: list[WebhookDelivery] = []
        async for delivery in client.webhooks.deliveries(endpoint_id, status=status, page_size=min(limit, 100)):
            if len(found) == limit:
                break
            found.append(delivery)
        columns = ("id", "type", "status", "occurred_at", "next_attempt_at")
        Output(as_json=as_json).many(found, columns, empty="It was told nothing yet.")

    with_client(settings, run)


@app.command("replay")
@settable("client")
def replay(
    settings: Settings,
    *,
    endpoint_id: _Id,
    since: Annotated[
        datetime, typer.Option("--from", help="The beginning, local time; as far back as events are kept, seven days.")
    ],
    until: Annotated[datetime | None, typer.Option("--to", help="The end, local time; now without it.")] = None,
    as_json: _Json = False,
) -> None:
    """Tell an endpoint again what happened in a stretch of time."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        begun = await client.webhooks.replay(
            endpoint_id, since=since.astimezone(), until=until.astimezone() if until else None
        )
        Output(as_json=as_json).one(begun, title="It goes on in the background.")

    with_client(settings, run)
