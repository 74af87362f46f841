"""`waypost pause`, `resume`, `queue` and `dead-letters`: running an installation from the shell."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.operations import DeadLetter, Pause

dead_letters = typer.Typer(help="Dead letters: messages that were given up, and sending them again.")

_Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
_Tenant = Annotated[str | None, typer.Option(help="By the platform's key, for this tenant.")]


@settable("client")
def pause(
    settings: Settings,
    *,
    scope: Annotated[
        str | None, typer.Argument(metavar="SCOPE", help="tenant, channel, account, broadcast or category.")
    ] = None,
    subject: Annotated[
        str | None, typer.Argument(metavar="ID", help="Which one: email, marketing, acc_…, dbt_…; nothing for tenant.")
    ] = None,
    reason: Annotated[str, typer.Option(help="For people.")] = "",
    tenant: _Tenant = None,
    as_json: _Json = False,
) -> None:
    """Stop sending within two seconds; without a scope, list what is paused."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        if scope is not None:
            made = await client.pauses.create(scope, subject, reason=reason)
            Output(as_json=as_json).one(made, title="Paused. Messages go on being accepted, and wait.")
            return
        columns = ("id", "scope", "subject", "reason", "by_platform", "created_at")
        Output(as_json=as_json).many(list(await client.pauses.list()), columns, empty="Nothing is paused.")

    with_client(settings, run, platform=tenant is not None, tenant=tenant)


@settable("client")
def resume(
    settings: Settings,
    *,
    which: Annotated[str, typer.Argument(metavar="ID|SCOPE", help="`pau_…`, or the scope that was paused.")],
    subject: Annotated[str | None, typer.Argument(metavar="ID", help="With a scope: which one.")] = None,
    tenant: _Tenant = None,
) -> None:
    """Go on at once."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import complain

    async def run(client: "Client") -> None:
        found = [one for one in await client.pauses.list() if _is_meant(one, which, subject)]
        if not found:
            complain("Nothing like that is paused.")
            raise typer.Exit(1)
        for one in found:
            await client.pauses.resume(one.id)
            typer.echo(f"Resumed {one.scope} {one.subject}.")

    with_client(settings, run, platform=tenant is not None, tenant=tenant)


def _is_meant(pause: "Pause", which: str, subject: str | None) -> bool:
    return pause.id == which or (pause.scope == which and subject in (None, pause.subject))


@settable("client")
def queue(
    settings: Settings,
    *,
    platform: Annotated[bool, typer.Option("--platform", help="By the platform's key: sums over all tenants.")] = False,
    tenant: _Tenant = None,
    as_json: _Json = False,
) -> None:
    """Show what waits in each lane, and since when."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        standing = await client.queue()
        if as_json:
            Output(as_json=True).one(standing, title="")
            return
        columns = ("channel", "priority", "waiting", "scheduled", "held", "in_flight", "oldest_age_seconds", "paused")
        Output(as_json=False).many(list(standing.lanes), columns, empty="Nothing was ever queued.")
        typer.echo(f"{standing.workers_alive} workers alive.")

    with_client(settings, run, platform=platform or tenant is not None, tenant=tenant)


_Reason = Annotated[
    str | None, typer.Option(help="retries_exhausted, refused, not_composed or poisonous; all without it.")
]
_Channel = Annotated[str | None, typer.Option(help="Only of this channel.")]
_Category = Annotated[str | None, typer.Option(help="Only of this category.")]
_Template = Annotated[str | None, typer.Option(help="Only of this template.")]
_Since = Annotated[datetime | None, typer.Option(help="Only given up from then on, local time.")]


@dead_letters.command("list")
@settable("client")
def show_dead_letters(
    settings: Settings,
    *,
    reason: _Reason = None,
    channel: _Channel = None,
    category: _Category = None,
    template: _Template = None,
    since: _Since = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show at most.")] = 20,
    as_json: _Json = False,
) -> None:
    """List them, the latest first."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found: list[DeadLetter] = []
        async for one in client.dead_letters.list(
            reason=reason,
            channel=channel,
            category=category,
            template=template,
            since=since.astimezone() if since else None,
            page_size=min(limit, 100),
        ):
            if len(found) == limit:
                break
            found.append(one)
        columns = ("notification_id", "at", "reason", "detail", "channel", "template", "attempts", "can_be_redriven")
        Output(as_json=as_json).many(found, columns, empty="There are no dead letters.")

    with_client(settings, run)


@dead_letters.command("redrive")
@settable("client")
def redrive(
    settings: Settings,
    *,
    notification_ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="Or a filter below.")] = None,
    reason: _Reason = None,
    channel: _Channel = None,
    category: _Category = None,
    template: _Template = None,
    since: _Since = None,
    extend: Annotated[str | None, typer.Option(help="How long expired ones may take from now on: 24h.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All there are, where no filter is given.")] = False,
    as_json: _Json = False,
) -> None:
    """Send them again, under the same Message-ID. Twice is as good as once."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output, complain

    filtered = any((reason, channel, category, template, since, every))
    if bool(notification_ids) == filtered:
        complain("Name notifications, or a filter; --all for all of them.")
        raise typer.Exit(64)

    async def run(client: "Client") -> None:
        done = await client.dead_letters.redrive(
            notification_ids or None,
            reason=reason,
            channel=channel,
            category=category,
            template=template,
            since=since.astimezone() if since else None,
            extend=extend,
        )
        Output(as_json=as_json).one(done, title="A job does it." if done.job_id else "Done.")

    with_client(settings, run)
