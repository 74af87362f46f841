"""`waypost keys`: API keys of tenants."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from waypost.cli.options import settable
from waypost.kernel.tenancy import PLATFORM_ONLY, Permission
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client

app = typer.Typer(help="Manage API keys, with the platform's key.", no_args_is_help=True)

_EVERY_SCOPE: Final = sorted(one.value for one in Permission if one not in PLATFORM_ONLY)
_Tenant = Annotated[str, typer.Option("--tenant", help="The tenant.")]


@app.command("create")
@settable("client")
def create(
    settings: Settings,
    *,
    tenant: _Tenant = "demo",
    name: Annotated[str, typer.Option(help="What the key is for.")] = "from the command line",
    scope: Annotated[
        list[str] | None, typer.Option(help="May be repeated; all of a tenant's scopes without it.")
    ] = None,
    expires_at: Annotated[datetime | None, typer.Option(help="When it ends, local time; never without it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Make a key. Its secret is shown this once."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        ends = expires_at.astimezone() if expires_at else None
        made = await client.keys.create(tenant, name=name, scopes=scope or _EVERY_SCOPE, expires_at=ends)
        Output(as_json=as_json).one(made, title="Keep the secret: it is shown only now.")

    with_client(settings, run, platform=True, tenant=tenant)


@app.command("list")
@settable("client")
def show_list(
    settings: Settings,
    *,
    tenant: _Tenant = "demo",
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List the keys of a tenant, without their secrets."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.keys.list(page_size=100)]
        columns = ("id", "name", "hint", "created_at", "last_used_at", "expires_at", "revoked_at")
        Output(as_json=as_json).many(found, columns, empty="There are no keys.")

    with_client(settings, run, platform=True, tenant=tenant)


@app.command("revoke")
@settable("client")
def revoke(
    settings: Settings,
    *,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it.")],
    tenant: _Tenant = "demo",
) -> None:
    """End a key at once."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        await client.keys.revoke(key_id)
        Output(as_json=False).line(f"{key_id} is revoked.")

    with_client(settings, run, platform=True, tenant=tenant)


@app.command("platform")
@settable("database")
def make_platform_key(
    settings: Settings,
    *,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "platform",
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Make a platform key in the database itself: the first one of a deployment, or one in place of a lost one."""
    import asyncio

    from waypost.bootstrap.household import make_platform_key as make
    from waypost.cli.show import Output

    secret = asyncio.run(make(settings, name))
    Output(as_json=as_json).one({"secret": secret}, title="Keep the secret: it is shown only now.")
