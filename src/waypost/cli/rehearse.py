"""`waypost rehearse`: a broadcast tried out on a fake Internet. Nothing leaves the machine; the tenant is only read."""

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.kernel.errors import refuse
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.rehearsal.model import Report


@settable("client")
def rehearse(
    settings: Settings,
    *,
    people: Annotated[int, typer.Option(help="So many people, made up and spread as the profile says.")] = 1_000,
    csv: Annotated[str | None, typer.Option(help="A file of addresses: one in a line, or in a column `email`.")] = None,
    list_key: Annotated[str | None, typer.Option("--list", help="The people on this list of the tenant's.")] = None,
    tag: Annotated[str | None, typer.Option(help="The tenant's people with this tag.")] = None,
    template: Annotated[str | None, typer.Option(help="What is sent: the published version of this template.")] = None,
    sample: Annotated[str | None, typer.Option(help="The sample of the template to fill it with.")] = None,
    transactional: Annotated[bool, typer.Option(help="Rehearse it as transactional, not as marketing.")] = False,
    profile: Annotated[str, typer.Option(help="calm, usual, stormy, greylist, or a TOML file of your own.")] = "usual",
    seed: Annotated[int, typer.Option(help="The same seed gives everybody the same fate.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Try a broadcast out: how long it would take, what providers would say, whom it would cost.

    Mailbox providers that greylist, limit, refuse and send back are played on this machine, on a clock that moves by
    itself; nobody gets any mail. Of the tenant's people only domain, language and suppression are read, nothing is
    written. Whether they have consented is not asked."""
    import asyncio

    from waypost.bootstrap.rehearsal import chosen_profile
    from waypost.cli import rehearsed
    from waypost.rehearsal.profiles import made_up

    if sum(one is not None for one in (csv, list_key, tag)) > 1:
        raise refuse("/people", "one_audience", "Give one of --csv, --list and --tag.")
    chosen = chosen_profile(profile)
    found = rehearsed.Found(letter=rehearsed.USUAL_LETTER)
    if list_key is not None or tag is not None or template is not None:
        rehearsed.read_tenant(settings, found, list_key=list_key, tag=tag, template=template, sample=sample)
    if csv is not None:
        rehearsed.read_csv(found, csv)
    if csv is None and list_key is None and tag is None:
        found.people = made_up(chosen, people)
    if not found.people:
        raise refuse("/people", "nobody", "There is nobody to write to.")
    found.is_marketing = not transactional
    report = asyncio.run(rehearsed.run(chosen, seed, found, quiet=as_json))
    _show(report, found.unread, as_json=as_json)


def _show(report: "Report", unread: int, *, as_json: bool) -> None:
    from datetime import timedelta

    import msgspec

    from waypost.cli.show import Output

    output = Output(as_json=as_json)
    if as_json:
        output.one({**msgspec.to_builtins(report), "unread": unread}, title="")
        return
    summary = {
        "recipients": report.recipients,
        "not read": unread or None,
        **{f"ended {state}": number for state, number in report.ended.items()},
        **{f"because of {reason}": number for reason, number in report.reasons.items()},
        "deferrals": report.deferrals,
        "retries": report.retries,
        "last message after": str(timedelta(seconds=report.finished_after_seconds)),
        "last news after": str(timedelta(seconds=report.settled_after_seconds)),
        **{f"suppressed for {reason}": number for reason, number in report.suppressed.items()},
    }
    output.one(summary, title=f"Rehearsed with the profile {report.profile}, seed {report.seed}.")
    columns = ("provider", "recipients", "taken", "deferred", "refused", "undeliverable", "complaints")
    output.many(report.providers, (*columns, "per_hour", "busiest_minute"), empty="")
