"""`waypost templates`: a folder of files and the server's templates, kept alike."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.cli.template_sync import Step
    from waypost.client import Client

app = typer.Typer(help="Keep a folder of files and the server's templates alike.", no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(help="Where the files are: FOLDER/<key>/<channel>/template.toml.")]
_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
_Platform = Annotated[bool, typer.Option("--platform", help="The platform's own templates, with the platform's key.")]
_Key = Annotated[list[str] | None, typer.Option("--key", help="Only this one; may be repeated.")]
_COLUMNS: Final = ("key", "channel", "action", "version", "message")


@app.command("pull")
@settable("client")
def pull(
    settings: Settings,
    *,
    folder: _Folder = Path("templates"),
    key: _Key = None,
    drafts: Annotated[bool, typer.Option("--drafts", help="The newest draft rather than what is sent now.")] = False,
    platform: _Platform = False,
    as_json: _Json = False,
) -> None:
    """Write what the server has into the folder."""

    async def run(client: "Client", tell: Callable[["Step"], None]) -> None:
        from waypost.cli.template_sync import pull as pull_one

        owner = "platform" if platform else "tenant"
        async for template in client.templates.list(owner=owner, page_size=100):
            if not key or template.key in key:
                tell(await pull_one(client, folder, template, owner=owner, drafts=drafts))

    _run(settings, run, platform=platform, as_json=as_json, empty="There are no templates.")


@app.command("push")
@settable("client")
def push(
    settings: Settings,
    *,
    folder: _Folder = Path("templates"),
    key: _Key = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish what is pushed, rather than leave drafts.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Although the server has something newer.")] = False,
    platform: _Platform = False,
    as_json: _Json = False,
) -> None:
    """Make drafts of what differs. Layouts and partials go first, since messages are made of them."""

    async def run(client: "Client", tell: Callable[["Step"], None]) -> None:
        from waypost.cli.template_folder import read_folder, write_entry
        from waypost.cli.template_sync import push as push_one

        entries = [entry for entry in read_folder(folder) if not key or entry.key in key]
        order = {"partial": 0, "layout": 1}
        for entry in sorted(entries, key=lambda each: order.get(each.kind, 2)):
            owner = "platform" if platform else "tenant"
            step = await push_one(client, entry, owner=owner, publish=publish, force=force)
            if not step.is_trouble and step.version is not None:
                write_entry(folder, replace(entry, version=step.version))
            tell(step)

    _run(settings, run, platform=platform, as_json=as_json, empty="The folder has no templates.")


@app.command("diff")
@settable("client")
def diff(
    settings: Settings,
    *,
    folder: _Folder = Path("templates"),
    key: _Key = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 where something differs.")] = False,
    platform: _Platform = False,
    as_json: _Json = False,
) -> None:
    """Show what pushing would change."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output
    from waypost.cli.template_folder import read_folder
    from waypost.cli.template_sync import differences, look

    found: dict[str, str] = {}

    async def run(client: "Client") -> None:
        for entry in read_folder(folder):
            if key and entry.key not in key:
                continue
            owner = "platform" if platform else "tenant"
            there = await look(client, entry.key, entry.channel, owner=owner)
            patch = differences(entry, there)
            if patch:
                found[f"{entry.key}/{entry.channel}"] = patch

    with_client(settings, run, platform=platform)
    output = Output(as_json=as_json)
    output.patches(found, empty="Folder and server are alike.")
    if check and found:
        raise typer.Exit(1)


def _run(
    settings: Settings,
    work: Callable[["Client", Callable[["Step"], None]], Awaitable[None]],
    *,
    platform: bool,
    as_json: bool,
    empty: str,
) -> None:
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    steps: list[Step] = []

    async def run(client: "Client") -> None:
        await work(client, steps.append)

    with_client(settings, run, platform=platform)
    Output(as_json=as_json).many(steps, _COLUMNS, empty=empty)
    if any(step.is_trouble for step in steps):
        raise typer.Exit(1)
