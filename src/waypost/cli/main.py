"""The tree of commands."""

import sys
from typing import Annotated

import typer

from waypost import __version__
from waypost.cli import (
    accounts,
    domains,
    erasures,
    events,
    explain,
    imports,
    inbox,
    keys,
    mailbox,
    operations,
    rehearse,
    running,
    send,
    tail,
    templates,
    tenants,
    webhooks,
)
from waypost.cli.doctor import command as doctor
from waypost.kernel.errors import WaypostError

app = typer.Typer(
    name="waypost",
    help="Waypost, the messaging backend for products.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("up")(running.up)
app.command("api")(running.api)
app.command("worker")(running.worker)
app.command("relay")(running.relay)
app.command("smtp")(running.smtp)
app.command("migrate")(running.migrate)
app.command("settings")(running.settings)
app.command("send")(send.send)
app.command("resend")(send.resend)
app.command("tail")(tail.tail)
app.command("explain")(explain.explain)
app.command("pause")(operations.pause)
app.command("resume")(operations.resume)
app.command("queue")(operations.queue)
app.command("doctor")(doctor.doctor)
app.command("rehearse")(rehearse.rehearse)
app.add_typer(inbox.app, name="inbox")
app.add_typer(inbox.counters, name="counters")
app.add_typer(imports.imports, name="imports")
app.add_typer(imports.exports, name="exports")
app.add_typer(erasures.app, name="erasures")
app.add_typer(mailbox.app, name="mailbox")
app.add_typer(templates.app, name="templates")
app.add_typer(tenants.app, name="tenants")
app.add_typer(keys.app, name="keys")
app.add_typer(accounts.app, name="accounts")
app.add_typer(domains.app, name="domains")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(operations.dead_letters, name="dead-letters")
app.add_typer(events.events, name="events")
app.add_typer(events.triggers, name="triggers")
app.add_typer(events.timers, name="timers")


def _show_version(wanted: bool) -> None:  # noqa: FBT001 — typer calls it so
    if wanted:
        typer.echo(f"waypost {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Waypost, the messaging backend for products."""


def main() -> None:
    try:
        app()
    except WaypostError as error:
        sys.stderr.write(f"waypost: {' '.join(error.detail.split())}\n")
        sys.exit(error.exit_code)
