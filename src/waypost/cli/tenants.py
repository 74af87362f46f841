"""`waypost tenants`: the customers of this deployment."""

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client

app = typer.Typer(help="Manage tenants, with the platform's key.", no_args_is_help=True)


@app.command("list")
@settable("client")
def show_list(
    settings: Settings,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List all tenants."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.tenants.list(page_size=100)]
        columns = ("id", "name", "mode", "status", "created_at")
        Output(as_json=as_json).many(found, columns, empty="There are no tenants.")

    with_client(settings, run, platform=True)


@app.command("create")
@settable("client")
def create(
    settings: Settings,
    *,
    tenant_id: Annotated[str, typer.Argument(metavar="ID", help="Lower-case letters, digits and hyphens.")],
    name: Annotated[str | None, typer.Option(help="The name people read; the id without it.")] = None,
    mode: Annotated[str, typer.Option(help="sandbox sends to the catch-all only, live to the world.")] = "sandbox",
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Make a tenant."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        made = await client.tenants.create(tenant_id, name=name or tenant_id, mode=mode)
        Output(as_json=as_json).one(made, title=f"Tenant {made.id}")

    with_client(settings, run, platform=True)


@app.command("status")
@settable("client")
def change_status(
    settings: Settings,
    *,
    tenant_id: Annotated[str, typer.Argument(metavar="ID")],
    status: Annotated[str, typer.Argument(help="active, suspended or deleting.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Suspend a tenant, or let it go on."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        known = await client.tenants.get(tenant_id)
        changed = await client.tenants.change(tenant_id, {"status": status}, version=known.version)
        Output(as_json=as_json).one(changed, title=f"Tenant {changed.id}")

    with_client(settings, run, platform=True)
