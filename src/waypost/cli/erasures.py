"""`waypost erasures`: the list of who was erased, kept beside backups and replayed after a restore."""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.answers import Certificate

app = typer.Typer(help="Keep the list of who was erased, and erase them again after a restore.", no_args_is_help=True)
_AT_ONCE: Final = 100
_All = Annotated[bool, typer.Option("--all-tenants", help="Of every tenant, with the platform's key.")]


@app.command("export")
@settable("client")
def export(
    settings: Settings,
    *,
    file: Annotated[Path | None, typer.Argument(dir_okay=False, help="Where to; standard output without it.")] = None,
    all_tenants: _All = False,
) -> None:
    """Write every certificate of an erasure, one on each line: the list to keep with the backups."""
    import msgspec

    from waypost.cli.connection import with_client

    found: list[Certificate] = []

    async def collect(client: "Client") -> None:
        found.extend([one async for one in client.recipients.erasures(page_size=_AT_ONCE)])

    for tenant in _tenants(settings) if all_tenants else [None]:
        with_client(settings, collect, platform=all_tenants, tenant=tenant)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in found)
    if file is None:
        sys.stdout.buffer.write(lines)
    else:
        file.write_bytes(lines)
        typer.echo(f"{len(found)} written.")


@app.command("replay")
@settable("client")
def replay(
    settings: Settings,
    *,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="As `export` wrote it.")],
    all_tenants: _All = False,
) -> None:
    """Erase again whoever a restored backup has brought back. Running it twice is as good as once."""
    from waypost.cli.connection import with_client

    erased = noted = 0
    for tenant, certificates in _by_tenant(file):

        async def send(client: "Client", certificates: "list[Certificate]" = certificates) -> None:
            nonlocal erased, noted
            for start in range(0, len(certificates), _AT_ONCE):
                done = await client.recipients.replay_erasures(certificates[start : start + _AT_ONCE])
                erased, noted = erased + done.erased, noted + done.noted

        with_client(settings, send, platform=all_tenants, tenant=tenant if all_tenants else None)
    typer.echo(f"{erased} were back and are erased again; {noted} erasures were not on record any more.")


def _tenants(settings: Settings) -> list[str]:
    from waypost.cli.connection import with_client

    found: list[str] = []

    async def collect(client: "Client") -> None:
        found.extend([one.id async for one in client.tenants.list(page_size=_AT_ONCE)])

    with_client(settings, collect, platform=True)
    return found


def _by_tenant(file: Path) -> "Iterator[tuple[str, list[Certificate]]]":
    import msgspec

    from waypost.cli.show import complain
    from waypost.client.answers import Certificate

    read: list[Certificate] = []
    for place, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            read.append(msgspec.json.decode(line, type=Certificate))
        except msgspec.DecodeError:
            complain(f"Line {place} is no certificate. Nothing was sent.")
            raise typer.Exit(65) from None
    for tenant, group in groupby(sorted(read, key=lambda one: one.tenant), key=lambda one: one.tenant):
        yield tenant, list(group)
