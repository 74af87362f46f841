"""`waypost inbox`: post and look at what was posted. `waypost counters`: whether everything is counted right."""

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.client import Client
    from waypost.client.inboxes import Post

app = typer.Typer(help="Post to inboxes, and look at what was posted.", no_args_is_help=True)
counters = typer.Typer(help="Look at the counters of inboxes.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
InboxKey = Annotated[str, typer.Option("--inbox", help="The inbox's key.")]


@app.command("list")
@settable("client")
def show_list(settings: Settings, *, as_json: Json = False) -> None:
    """List inboxes."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = [one async for one in client.inboxes.list(page_size=100)]
        columns = ("key", "title", "ttl", "version")
        Output(as_json=as_json).many(found, columns, empty="There are no inboxes. Make one with `waypost inbox put`.")

    with_client(settings, run)


@app.command("put")
@settable("client")
def put(
    settings: Settings,
    *,
    key: Annotated[str, typer.Argument(help="Lower-case letters, digits and `._-`.")],
    title: Annotated[str, typer.Option(help="What people read.")] = "Notifications",
    ttl: Annotated[str, typer.Option(help="How long messages stay.")] = "30d",
    as_json: Json = False,
) -> None:
    """Make or change an inbox."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        made = await client.inboxes.put(key, title=title, ttl={"default": ttl})
        Output(as_json=as_json).one(made, title=f"Inbox {made.key}")

    with_client(settings, run)


@app.command("post")
@settable("client")
def post(
    settings: Settings,
    *,
    title: Annotated[str, typer.Argument(help="Plain text.")],
    body: Annotated[str, typer.Option(help="Plain text below the title.")] = "",
    to: Annotated[list[str] | None, typer.Option(help="A recipient's id; again for more. Without: everyone.")] = None,
    topic: Annotated[str | None, typer.Option(help="One of your topics.")] = None,
    ttl: Annotated[str | None, typer.Option(help="How long it stays, such as 7d.")] = None,
    inbox: InboxKey = "main",
    as_json: Json = False,
) -> None:
    """Post a message, to the named or to everyone."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        posted = await client.inboxes.post(inbox, title, recipients=to, body=body, topic=topic, ttl=ttl)
        Output(as_json=as_json).one(posted, title=f"Posted {posted.id}")

    with_client(settings, run)


@app.command("posts")
@settable("client")
def show_posts(
    settings: Settings,
    *,
    inbox: InboxKey = "main",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    as_json: Json = False,
) -> None:
    """List what was posted, newest first."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found: list[Post] = []
        async for one in client.inboxes.posts(inbox, page_size=min(limit, 100)):
            found.append(one)
            if len(found) == limit:
                break
        columns = ("id", "title", "audience", "topic", "received_at", "expires_at", "redacted_at")
        Output(as_json=as_json).many(found, columns, empty="Nothing was posted.")

    with_client(settings, run)


@app.command("show")
@settable("client")
def show_post(
    settings: Settings,
    *,
    post_id: Annotated[str, typer.Argument(metavar="ID", help="`pst_…`")],
    inbox: InboxKey = "main",
    as_json: Json = False,
) -> None:
    """Show a post and how far it reached."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        Output(as_json=as_json).one(await client.inboxes.get_post(inbox, post_id), title=f"Post {post_id}")

    with_client(settings, run)


@app.command("redact")
@settable("client")
def redact(
    settings: Settings,
    *,
    post_id: Annotated[str, typer.Argument(metavar="ID", help="`pst_…`")],
    inbox: InboxKey = "main",
) -> None:
    """Take a post back from every feed."""
    from waypost.cli.connection import with_client

    async def run(client: "Client") -> None:
        await client.inboxes.redact(inbox, post_id)

    with_client(settings, run)


@app.command("token")
@settable("client")
def token(
    settings: Settings,
    *,
    recipient: Annotated[str, typer.Argument(help="The recipient's id.")],
    expires_in: Annotated[str | None, typer.Option(help="From 1m to 24h.")] = None,
    as_json: Json = False,
) -> None:
    """Issue a recipient's token, to try things out."""
    import msgspec

    from waypost.cli.connection import with_client

    async def run(client: "Client") -> None:
        issued = await client.inboxes.token(recipient, expires_in=expires_in)
        typer.echo(msgspec.json.encode(issued).decode() if as_json else issued.token)

    with_client(settings, run)


@counters.command("verify")
@settable("client")
def verify(settings: Settings, *, as_json: Json = False) -> None:
    """Count everything again; ends with 1 where something differs."""
    from waypost.cli.connection import with_client
    from waypost.cli.show import Output

    async def run(client: "Client") -> None:
        found = await client.inboxes.verify_counters()
        Output(as_json=as_json).many(list(found), ("where", "counted", "there"), empty="All counters are right.")
        if found:
            raise typer.Exit(1)

    with_client(settings, run)
