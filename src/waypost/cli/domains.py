"""`waypost domains`: what a tenant may send from, with the records to set, from the shell."""

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.cli.show import Output
    from waypost.client import Client
    from waypost.client.domains import Domain

app = typer.Typer(help="Domains: what you may send from, and the DNS records for it.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(metavar="DOMAIN", help="Its name, or its id.")]
_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


@app.command("add")
@settable("client")
def add(
    settings: Settings,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as mail.example.com.")],
    purpose: Annotated[
        list[str] | None, typer.Option(help="from, return_path or tracking; may be repeated. `from` without it.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Claim a domain, and show the DNS records to set."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        _show(Output(as_json=as_json), await client.domains.create(name, purposes=purpose or ["from"]))

    with_client(settings, run)


@app.command("list")
@settable("client")
def show_list(settings: Settings, *, as_json: _Json = False) -> None:
    """List the domains, newest first."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.domains.list(page_size=100)]
        columns = ("id", "name", "state", "purposes", "checked_at", "failing_since")
        Output(as_json=as_json).many(found, columns, empty="There are no domains.")

    with_client(settings, run)


@app.command("show")
@settable("client")
def show(settings: Settings, *, name: _Name, as_json: _Json = False) -> None:
    """Show a domain's records, and which of them were found."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        _show(Output(as_json=as_json), await _find(client, name))

    with_client(settings, run)


@app.command("verify")
@settable("client")
def verify(settings: Settings, *, name: _Name, as_json: _Json = False) -> None:
    """Look at a domain's records now. Exit code 0 when it may be used."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = await _find(client, name)
        checked = await client.domains.verify(found.id)
        _show(Output(as_json=as_json), checked)
        if checked.state not in ("verified", "failing"):
            raise typer.Exit(1)

    with_client(settings, run)


@app.command("rotate-keys")
@settable("client")
def rotate_keys(
    settings: Settings,
    *,
    name: _Name,
    overlap: Annotated[str, typer.Option(help="How long the records of the old keys must stay.")] = "7d",
    as_json: _Json = False,
) -> None:
    """Make new DKIM keys. They sign once their records are seen."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = await _find(client, name)
        _show(Output(as_json=as_json), await client.domains.rotate_keys(found.id, overlap=overlap))

    with_client(settings, run)


@app.command("remove")
@settable("client")
def remove(settings: Settings, *, name: _Name) -> None:
    """Give a domain up: nothing more is sent from it, and its keys are destroyed."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = await _find(client, name)
        await client.domains.delete(found.id)
        Output(as_json=False).line(f"{found.name} is removed.")

    with_client(settings, run)


async def _find(client: "Client", name: str) -> "Domain":
    if name.startswith("dom_"):
        return await client.domains.get(name)
    async for domain in client.domains.list(page_size=100):
        if domain.name == name.lower().rstrip("."):
            return domain
    # The API says that there is none of this id, in its own words.
    return await client.domains.get(name)


def _show(output: "Output", domain: "Domain") -> None:
    if output.as_json:
        output.one(domain, title="")
        return
    output.line(f"{domain.name} is {domain.state}.")
    for record in domain.records:
        mark = {True: "✓", False: "✗", None: "·"}[record.found]
        advice = "" if record.required else " (advice)"
        output.line(f"\n{mark} {record.purpose}{advice}")
        output.line(f"  {record.type:5}  {record.name}")
        output.line(f"         {record.value}")
    for check in domain.checks:
        if check.result != "passed":
            output.line(f"\n{check.name}: {check.said}")
