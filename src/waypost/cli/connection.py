"""How commands reach the API, and how its refusals end them."""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from waypost.cli.dev_env import with_dev_env
from waypost.cli.show import complain
from waypost.client import Client, ClientError
from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings


def with_client(
    settings: Settings, work: Callable[[Client], Awaitable[None]], *, platform: bool = False, tenant: str | None = None
) -> None:
    """Runs the work with a client; with `platform`, by the platform's key, for `tenant` where one is named."""
    found = with_dev_env(settings)
    key = found.platform_key if platform else found.api_key
    if found.url is None or key is None:
        wanted = "WAYPOST_URL and " + ("WAYPOST_PLATFORM_KEY" if platform else "WAYPOST_API_KEY")
        raise Misconfigured(f"Set {wanted}, or name the data directory of a running `waypost up` with --data-dir.")
    url, secret = found.url, key.reveal()

    async def run() -> None:
        async with Client(url, secret, tenant=tenant, tries=4) as client:
            await work(client)

    try:
        asyncio.run(run())
    except ClientError as error:
        complain(str(error))
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
