"""`waypost imports` and `waypost exports`: files of people, in and out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.answers import Json
    from waypost.client.jobs import Job

imports = typer.Typer(help="Bring people in from CSV files.", no_args_is_help=True)
exports = typer.Typer(help="Write people or suppressions to CSV files.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="As `start` or `list` shows it.")]
_COLUMNS: Final = ("id", "state", "created_at", "finished_at", "result")


@imports.command("start")
@settable("client")
def start_import(
    settings: Settings,
    *,
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="CSV in UTF-8; its first line names columns.")
    ],
    column: Annotated[
        list[str] | None, typer.Option(help="FILE=OURS, as `E-Mail=email` or `City=attributes.city`; may be repeated.")
    ] = None,
    list_key: Annotated[str | None, typer.Option("--list", help="Everyone in the file joins this list.")] = None,
    consent: Annotated[
        list[str] | None,
        typer.Option(help="FILE=TOPIC, or FILE=TOPIC:CHANNEL, of a column that says who agreed; may be repeated."),
    ] = None,
    consent_source: Annotated[
        str, typer.Option(help="Where they agreed, as it is kept with their consent.")
    ] = "import",
    consent_text: Annotated[str | None, typer.Option(help="The version of the text that they agreed to.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Everyone in the file gets this tag; may be repeated.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and report, and change nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Stay until it has ended.")] = True,
    as_json: _Json = False,
) -> None:
    """Import a file, and show how it goes on."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output, complain

    columns: dict[str, str | None] = {}
    for pair in column or ():
        theirs, mark, ours = pair.partition("=")
        if not mark:
            complain("Write a column as FILE=OURS.")
            raise typer.Exit(64)
        columns[theirs] = ours or None
    consents: list[Json] = []
    for pair in consent or ():
        theirs, mark, meant = pair.rpartition("=")
        if not mark or not meant:
            complain("Write a column of consents as FILE=TOPIC or FILE=TOPIC:CHANNEL.")
            raise typer.Exit(64)
        topic, _, channel = meant.partition(":")
        found: dict[str, Json] = {"column": theirs, "topic": topic, "channel": channel or "email"}
        consents.append({**found, "source": consent_source, "text_version": consent_text})
    options: dict[str, Json] = {
        "columns": dict(columns),
        "tags": list(tag or ()),
        "dry_run": dry_run,
        "list": list_key,
        "consents": consents,
    }

    async def run(client: "Client") -> None:
        job = await client.imports.start(file.read_bytes(), options)
        if wait:
            job = await _follow(client, job, quiet=as_json)
        Output(as_json=as_json).one(job, title=f"The import is {job.state}.")
        if job.state == "failed":
            raise typer.Exit(1)

    with_client(settings, run)


@imports.command("report")
@settable("client")
def show_report(settings: Settings, *, job_id: _Id) -> None:
    """Print what was wrong with which row, as CSV."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        Output(as_json=False).bytes(await client.imports.report(job_id))

    with_client(settings, run)


@imports.command("list")
@settable("client")
def list_imports(settings: Settings, *, as_json: _Json = False) -> None:
    """List imports, newest first."""
    _list(settings, "import", as_json=as_json)


@imports.command("cancel")
@settable("client")
def cancel_import(settings: Settings, *, job_id: _Id) -> None:
    """Stop an import. What was taken in stays."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        job = await client.jobs.cancel(job_id)
        Output(as_json=False).line(
            f"{job.id} is {job.state}." if job.has_ended else f"{job.id} stops before its next step."
        )

    with_client(settings, run)


@exports.command("start")
@settable("client")
def start_export(
    settings: Settings,
    *,
    file: Annotated[Path, typer.Argument(dir_okay=False, help="Where to write the CSV file.")],
    kind: Annotated[str, typer.Option(help="recipients or suppressions.")] = "recipients",
    tag: Annotated[str | None, typer.Option(help="Only recipients with this tag.")] = None,
    list_key: Annotated[str | None, typer.Option("--list", help="Only members of this list.")] = None,
    as_json: _Json = False,
) -> None:
    """Export to a file that only you can read."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        job = await client.exports.start(kind, tag=tag, list_key=list_key)
        job = await _follow(client, job, quiet=as_json)
        if job.state == "finished":
            file.touch(mode=0o600)
            file.write_bytes(await client.exports.file(job.id))
        Output(as_json=as_json).one(job, title=f"The export is {job.state}.")
        if job.state != "finished":
            raise typer.Exit(1)

    with_client(settings, run)


@exports.command("list")
@settable("client")
def list_exports(settings: Settings, *, as_json: _Json = False) -> None:
    """List exports, newest first."""
    _list(settings, "export", as_json=as_json)


def _list(settings: Settings, kind: str, *, as_json: bool) -> None:
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [job async for job in client.jobs.list(kind=kind, page_size=100)]
        Output(as_json=as_json).many(found, _COLUMNS, empty=f"There are no {kind}s.")

    with_client(settings, run)


async def _follow(client: "Client", job: "Job", *, quiet: bool) -> "Job":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task(job.kind, total=job.progress.total)
        async for now in client.jobs.follow(job.id):
            job = now
            bar.update(task, completed=now.progress.done, total=now.progress.total)
    return job
