"""Commands that start processes. Each hands over to a process of its own that knows nothing of the command line."""

from typing import Annotated

import typer

from waypost.cli.options import hand_over, settable
from waypost.settings import Settings, table


@settable("api", "database", "mail", "smtp-in", "worker", "crew", "relay", "alerts", "log")
def up(settings: Settings) -> None:
    """Start everything on this machine: database, API, worker and a catch-all mailbox. Ctrl-C stops it."""
    hand_over("waypost.cli.supervisor", settings)


@settable("api", "database", "mail", "relay", "alerts", "log")
def api(settings: Settings) -> None:
    """Run one API process on a database that is ready (see `migrate`)."""
    hand_over("waypost.api", settings)


@settable("database", "mail", "worker", "crew", "relay", "alerts", "log")
def worker(settings: Settings) -> None:
    """Run a worker on a database that is ready (see `migrate`); with --processes, several that are kept alive."""
    hand_over("waypost.workers" if settings.processes == "1" else "waypost.cli.supervisor.crew", settings)


@settable("database", "mail", "smtp-in", "log")
def smtp(settings: Settings) -> None:
    """Take mail over SMTP from software that knows no HTTP, on a database that is ready (see `migrate`)."""
    hand_over("waypost.smtp", settings)


@settable("database", "relay", "worker", "log")
def relay(settings: Settings) -> None:
    """Run a relay alone: it tells webhooks and brokers what has happened. Workers do so too, unless told not to."""
    hand_over("waypost.workers.relay", settings)


@settable("database")
def migrate(settings: Settings) -> None:
    """Make roles and database where they are missing and bring the schema up to date."""
    import asyncio

    from waypost.bootstrap.household import install
    from waypost.cli.show import Output

    version = asyncio.run(install(settings))
    Output(as_json=False).line(f"The database is ready; its schema is at version {version}.")


def settings(*, as_json: Annotated[bool, typer.Option("--json", help="One JSON array, for programs.")] = False) -> None:
    """List every setting with its environment variable and its default."""
    from waypost.cli.show import Output

    rows = [{"setting": row.variable, "default": row.shown_default, "meaning": row.about.sentence} for row in table()]
    Output(as_json=as_json).many(rows, ("setting", "default", "meaning"), empty="")
