"""`waypost explain`: why somebody would, or would not, get a message."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.kernel.errors import refuse
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.wish_answers import Explanation


@settable("client")
def explain(
    settings: Settings,
    *,
    recipient: Annotated[str, typer.Argument(metavar="RECIPIENT", help="The recipient's id.")],
    channel: Annotated[str, typer.Option(help="On which channel.")] = "email",
    category: Annotated[str | None, typer.Option(help="Of which category.")] = None,
    topic: Annotated[str | None, typer.Option(help="About which topic.")] = None,
    template: Annotated[str | None, typer.Option(help="Of which template; it says category and topic.")] = None,
    priority: Annotated[str, typer.Option(help="How urgent.")] = "normal",
    at: Annotated[
        str | None, typer.Option(help="When, such as 2026-01-15T23:00:00Z; now where it is left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Say what would happen to a message, and why. Nothing is sent."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    moment = _moment(at)

    async def run(client: "Client") -> None:
        found = await client.explain(
            recipient,
            channel=channel,
            category=category,
            topic=topic,
            template=template,
            priority=priority,
            at=moment,
        )
        output = Output(as_json=as_json)
        if as_json:
            output.one(found, title="")
            return
        output.line(_sentence(found))
        output.many(found.steps, ("rule", "verdict", "fact"), empty="")
        if found.note:
            output.line(found.note)

    with_client(settings, run)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise refuse("/at", "invalid_time", "Write --at as 2026-01-15T23:00:00Z.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _sentence(found: "Explanation") -> str:
    what = f"{found.category} on {found.channel}" + (f" about {found.topic}" if found.topic else "")
    if found.verdict == "allow":
        return f"It would be sent: {what}."
    why = (found.reason or "").replace("_", " ")
    if found.until is not None:
        return f"It would wait until {found.until.isoformat()} because of {why}: {what}."
    return f"It would not be sent ({why}): {what}."
