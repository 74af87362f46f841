"""Templates, and each one's versions."""

from typing import Final

from waypost.console.visit import Page, Shown, View, Visit, page
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS

_PAGE: Final = 50


@page("GET", "/templates", Permission.TEMPLATES_READ)
async def templates(visit: Visit) -> Shown:
    found = await visit.app.templates.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    return View(template="templates.html", shows={"templates": found.items, "next": found.next})


@page("GET", "/templates/{key}/{channel}", Permission.TEMPLATES_READ)
async def template(visit: Visit) -> Shown:
    channel = CHANNELS.get(visit.path["channel"])
    if channel is None:
        raise NotFound("There is no template of this key and channel.")
    key = visit.path["key"]
    found = await visit.app.templates.get(visit.tx, visit.scope, key=key, channel=channel)
    versions = await visit.app.templates.versions(
        visit.tx, visit.scope, key=key, channel=channel, cursor=visit.asked("cursor"), limit=_PAGE
    )
    shows = {"template": found, "versions": versions.items, "next": versions.next}
    return View(template="template.html", shows=shows)


PAGES: Final[tuple[Page, ...]] = (templates, template)
