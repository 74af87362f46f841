"""Whom and what a rehearsal takes from a tenant or a file, and the rehearsal itself."""

import csv as csv_format
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from waypost.bootstrap.rehearsal import open_rehearsal
from waypost.kernel.address import Address, normalise_email
from waypost.kernel.errors import Misconfigured, refuse
from waypost.rehearsal.model import Letter, Person, Profile, Report
from waypost.settings import Settings

USUAL_LETTER: Final = Letter(
    subject="A rehearsal", html="<p>This is only a rehearsal.</p>", text="This is only a rehearsal.\n"
)
_COLUMNS: Final = ("email", "e-mail", "address")


@dataclass(kw_only=True)
class Found:
    letter: Letter
    people: list[Person] = field(default_factory=list[Person])
    unread: int = 0
    """Lines that are no address, and people who have none."""
    is_marketing: bool = True


def read_tenant(
    settings: Settings, found: Found, *, list_key: str | None, tag: str | None, template: str | None, sample: str | None
) -> None:
    """Of people: domain, language, and whether they are suppressed. Of the template: what it says with its sample."""
    from waypost.cli.connection import with_client
    from waypost.client import Client

    async def read(client: Client) -> None:
        if list_key is not None or tag is not None:
            async for one in client.recipients.list(page_size=100, list=list_key, tag=tag):
                address = next((each for each in one.addresses if each.channel == "email" and each.current), None)
                if address is None:
                    found.unread += 1
                    continue
                found.people.append(
                    Person(
                        address=_stand_in(len(found.people), address.masked),
                        suppressed=address.status != "active",
                        locale=one.locale,
                        timezone=one.timezone,
                    )
                )
        if template is not None:
            versions = [one async for one in client.templates.versions(template) if one.state == "active"]
            if not versions:
                raise refuse("/template", "not_published", "This template has no published version.")
            shown = await client.templates.preview(template, versions[0].semver, sample=sample)
            found.letter = Letter(subject=shown.subject, html=shown.html, text=shown.text)

    with_client(settings, read)


def read_csv(found: Found, name: str) -> None:
    """Each address once. Only its domain goes on the stage."""
    try:
        with Path(name).open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv_format.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv_format.Error):
        raise Misconfigured(f"{name} cannot be read as a file of addresses.") from None
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    column = next((place for place, cell in enumerate(head) if cell in _COLUMNS), None)
    known = set[str]()
    for row in rows if column is None else rows[1:]:
        text = row[column or 0].strip() if len(row) > (column or 0) else ""
        address = normalise_email(text)
        if not isinstance(address, Address):
            found.unread += 1
        elif address.text not in known:
            known.add(address.text)
            found.people.append(Person(address=_stand_in(len(found.people), address.text)))


async def run(profile: Profile, seed: int, found: Found, *, quiet: bool) -> Report:
    from rich.console import Console
    from rich.progress import Progress

    from waypost.bootstrap import logs

    # Its own log lines are nobody's business.
    logs.configure(Settings(log_level="error"), process="rehearsal")
    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as progress:
        opening = progress.add_task("Setting the stage", total=None)
        async with open_rehearsal(profile, seed=seed) as stage:
            progress.update(opening, description="Accepting", total=len(found.people))
            await stage.send(
                found.people,
                replace(found.letter, is_marketing=found.is_marketing),
                lambda done, _all: progress.update(opening, completed=done),
            )
            progress.update(opening, description="Sending, on its own clock", total=None)
            await stage.run()
            return await stage.report()


def _stand_in(number: int, address: str) -> str:
    return f"p{number}@{address.rpartition('@')[2]}"
