"""`waypost accounts`: sender accounts from the shell."""

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.sender_accounts import SenderAccount
    from waypost.kernel.jsontypes import JsonValue

app = typer.Typer(help="Sender accounts: from where mail leaves, how much and how fast.", no_args_is_help=True)

_Id = Annotated[str, typer.Argument(metavar="ID", help="As `accounts list` shows it.")]
_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
_Limit = Annotated[int | None, typer.Option(min=1, help="Messages a day.")]


@app.command("create")
@settable("client")
def create(
    settings: Settings,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="For people.")],
    from_address: Annotated[str, typer.Option("--from", help="Stands in From where a message names nobody.")],
    kind: Annotated[str, typer.Option(help="smtp or gmail.")] = "smtp",
    display_name: Annotated[str, typer.Option(help="Stands beside the address.")] = "",
    server: Annotated[str, typer.Option(help="Of the SMTP server: host or host:port.")] = "",
    tls: Annotated[str, typer.Option(help="required, opportunistic, off or implicit.")] = "required",
    auth: Annotated[str, typer.Option(help="none, plain, login or xoauth2.")] = "none",
    username: Annotated[str, typer.Option(help="For the server.")] = "",
    subject: Annotated[str, typer.Option(help="The mailbox that a service account acts for.")] = "",
    secret_file: Annotated[
        typer.FileText | None, typer.Option(help="Where the secret lies; - reads it from standard input.")
    ] = None,
    daily_limit: _Limit = None,
    warm_up: Annotated[bool, typer.Option("--warm-up", help="Begin slowly, by the usual schedule.")] = False,
    as_json: _Json = False,
) -> None:
    """Make a sender account. Its secret is read from a file, never from the command line."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    host, _, port = server.partition(":")
    fields: dict[str, JsonValue] = {
        "display_name": display_name, "host": host, "port": int(port) if port.isdigit() else 0, "tls": tls,
        "auth": auth, "username": username, "subject": subject, "daily_limit": daily_limit,
        "warmup": {} if warm_up else None,
    }  # fmt: skip
    if secret_file is not None:
        fields["secret"] = secret_file.read().rstrip("\r\n")

    async def run(client: "Client") -> None:
        made = await client.sender_accounts.create(kind, name, from_address, **fields)
        Output(as_json=as_json).one(made, title="Mail leaves by it from now on.")

    with_client(settings, run)


@app.command("list")
@settable("client")
def show_list(
    settings: Settings,
    *,
    archived: Annotated[bool, typer.Option("--archived", help="Archived ones too.")] = False,
    as_json: _Json = False,
) -> None:
    """List the accounts, newest first, with what each has left today."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.sender_accounts.list(archived=archived, page_size=100)]
        output = Output(as_json=as_json)
        if as_json:
            output.many(found, (), empty="")
            return
        columns = ("id", "name", "from_address", "status", "sent", "limit", "remaining", "stage", "next_reset")
        output.many([_line(one) for one in found], columns, empty="There are no sender accounts.")

    with_client(settings, run)


@app.command("show")
@settable("client")
def show(settings: Settings, *, account_id: _Id, as_json: _Json = False) -> None:
    """Show an account as it stands now."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = await client.sender_accounts.get(account_id)
        Output(as_json=as_json).one(found, title=f"{found.name} is {found.status.replace('_', ' ')}.")

    with_client(settings, run)


@app.command("limit")
@settable("client")
def limit(
    settings: Settings,
    *,
    account_id: _Id,
    daily_limit: Annotated[
        int | None, typer.Argument(metavar="PER-DAY", min=1, help="Messages a day; without it there is no limit.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Set how much an account may send in a day."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        changed = await client.sender_accounts.change(account_id, {"daily_limit": daily_limit})
        Output(as_json=as_json).one(changed, title="It counts from the next batch on.")

    with_client(settings, run)


@app.command("pause")
@settable("client")
def pause(settings: Settings, *, account_id: _Id, as_json: _Json = False) -> None:
    """Stop an account from its next batch on."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        Output(as_json=as_json).one(await client.sender_accounts.pause(account_id), title="Paused.")

    with_client(settings, run)


@app.command("resume")
@settable("client")
def resume(settings: Settings, *, account_id: _Id, as_json: _Json = False) -> None:
    """Let a paused or suspended account send again."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        Output(as_json=as_json).one(await client.sender_accounts.resume(account_id), title="It sends again.")

    with_client(settings, run)


@app.command("test")
@settable("client")
def try_out(settings: Settings, *, account_id: _Id, as_json: _Json = False) -> None:
    """Enter the account's server and leave at once. Nothing is sent."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        trial = await client.sender_accounts.test(account_id)
        Output(as_json=as_json).one(trial, title="It works." if trial.ok else "It does not work.")
        if not trial.ok:
            raise typer.Exit(1)

    with_client(settings, run)


@app.command("archive")
@settable("client")
def archive(settings: Settings, *, account_id: _Id) -> None:
    """Remove an account. What it has sent still names it; its secret is destroyed."""
    from waypost.cli.connection import with_client

    async def run(client: "Client") -> None:
        await client.sender_accounts.archive(account_id)
        typer.echo("Archived.")

    with_client(settings, run)


def _line(account: "SenderAccount") -> "dict[str, JsonValue]":
    today = account.today
    return {
        "id": account.id,
        "name": account.name,
        "from_address": account.from_address,
        "status": "limit reached" if today.limit_reached and account.status in _SENDING else account.status,
        "sent": today.sent,
        "limit": today.limit,
        "remaining": today.remaining,
        "stage": None if account.warmup is None else account.warmup.stage,
        "next_reset": today.next_reset.isoformat(),
    }


_SENDING = frozenset({"active", "warming_up"})
