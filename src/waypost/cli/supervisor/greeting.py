"""A short-lived companion of `waypost up`: sends the first message through the API, sees it arrive, says where it is.

It is a process of its own so that the HTTP client and the painter of panels are gone again when it ends.
"""

import asyncio
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from waypost.cli.dev_env import NAME, with_dev_env
from waypost.client import Client, ClientError, Message
from waypost.client.answers import CaughtMail
from waypost.kernel.clock import SystemClock
from waypost.settings import Settings, load

Item = TypeVar("Item")

_PATIENCE_SECONDS: Final = 60.0
_WIDTH: Final = 1_000
_USUAL_DATA_DIR: Final = ".waypost"
_FIRST: Final = Message(
    to={"id": "first-reader", "email": "reader@example.com", "attributes": {"first_name": "Reader"}},
    content={
        "subject": "Welcome to Waypost, {{ first_name }}",
        "html": "<h1>It works, {{ first_name }}</h1><p>This message went the whole way: accepted by the API, queued, "
        "claimed by the worker, rendered, and sent over SMTP to the catch-all mailbox where you read it.</p>",
    },
    category="transactional",
)


def main() -> None:
    settings = with_dev_env(load())
    try:
        mail = asyncio.run(_first_message(settings))
    except (ClientError, TimeoutError) as error:
        _warn(f"Waypost runs, but its first message did not arrive ({error or 'it took too long'}).", settings)
        return
    _print_panel(settings, mail)


async def _first_message(settings: Settings) -> CaughtMail | None:
    """The newest in the mailbox. The very first message is sent now, unless the tenant has sent anything before."""
    clock = SystemClock()
    key = settings.api_key.reveal() if settings.api_key else ""
    async with asyncio.timeout(_PATIENCE_SECONDS), Client(settings.local_url, key) as client:
        while not await client.ready():
            await clock.sleep(0.02)
        first = await _newest(client.notifications.list(page_size=1)) is None
        if first:
            await client.notifications.send(_FIRST, idempotency_key="waypost-up-first-message")
        while (mail := await _newest(client.mailbox.list(page_size=1))) is None and first:
            await clock.sleep(0.02)
        return mail


async def _newest(found: AsyncIterator[Item]) -> Item | None:
    async for one in found:
        return one
    return None


def _print_panel(settings: Settings, mail: CaughtMail | None) -> None:
    console = Console(highlight=False, soft_wrap=True, width=_WIDTH)
    command = _command(settings)
    grid = Table.grid(padding=(0, 2))
    rows = [
        ("Console", f"{settings.api_url}/ (sign in with the key)"),
        ("API", settings.api_url),
        ("API key", settings.api_key.reveal() if settings.api_key else ""),
        ("Tenant", "demo (sandbox: what it sends reaches only the mailbox)"),
        ("Keys", str(settings.data_dir / NAME)),
    ]
    if mail is not None:
        rows += [("In the mailbox", f"“{mail.subject}” to {mail.to}"), ("See it", command("mailbox", "show", mail.id))]
    rows += [("See all", command("mailbox", "list")), ("Follow", command("tail"))]
    for name, value in rows:
        grid.add_row(Text(name, style="bright_black"), Text(value))
    console.print(Padding(Text("Waypost is up.", style="bold green"), (1, 0, 1, 2), expand=False))
    console.print(Padding(grid, (0, 0, 1, 2), expand=False))
    console.print(Padding(Text("Send your first call:", style="bold"), (0, 0, 1, 2), expand=False))
    console.print(Text(_curl(settings)))
    console.print(
        Padding(Text("Ctrl-C stops everything; the data stays.", style="bright_black"), (1, 0, 1, 2), expand=False)
    )


def _curl(settings: Settings) -> str:
    key = settings.api_key.reveal() if settings.api_key else ""
    return (
        f"curl -X POST {settings.api_url}/v1/notifications \\\n"
        f'  -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\\n'
        """  -d '{"to": {"id": "user-42", "email": "jane@example.com", "attributes": {"first_name": "Jane"}},\n"""
        """       "content": {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"}}'"""
    )


def _warn(text: str, settings: Settings) -> None:
    sys.stderr.write(f"waypost: {text} Ask: {_command(settings)('doctor')}\n")


def _command(settings: Settings) -> "_Command":
    program = Path(sys.executable).with_name("waypost")
    found = shutil.which("waypost")
    known = "waypost" if found is not None and Path(found).resolve() == program.resolve() else _near(program)
    usual = Path.cwd() / _USUAL_DATA_DIR == settings.data_dir
    return _Command(known, "" if usual else f" --data-dir {shlex.quote(_near(settings.data_dir))}")


def _near(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


class _Command:
    """Spells a command of ours so that it can be pasted into this terminal."""

    def __init__(self, program: str, options: str) -> None:
        self._program = program
        self._options = options

    def __call__(self, *words: str) -> str:
        return " ".join((shlex.quote(self._program), *words)) + self._options


if __name__ == "__main__":
    main()
