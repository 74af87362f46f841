"""People: the list, and one person's story."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.console.wishes import wishes_of
from waypost.kernel.tenancy import Permission
from waypost.notifications.model import Filter
from waypost.suppression.model import Suppression

_STORY: Final = 20
_PAGE: Final = 50


@page("GET", "/recipients", Permission.RECIPIENTS_READ)
async def recipients(visit: Visit) -> Shown:
    wanted = visit.asked("id")
    if wanted is not None:
        return Redirect(to=f"/recipients/{quote(wanted, safe='')}")
    found = await visit.app.people.search.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    return View(template="recipients.html", shows={"people": found.items, "next": found.next})


@page("GET", "/recipients/{id}", Permission.RECIPIENTS_READ)
async def recipient(visit: Visit) -> Shown:
    person = await visit.app.recipients.get(visit.tx, visit.scope, visit.path["id"])
    may_read = Permission.NOTIFICATIONS_READ in visit.scope.permissions
    story = (
        await visit.app.notifications.read.page(
            visit.tx, visit.scope, Filter(recipient_id=person.id), visit.asked("cursor"), _STORY
        )
        if may_read
        else None
    )
    suppressions: Sequence[Suppression] = ()
    if Permission.SUPPRESSIONS_READ in visit.scope.permissions:
        suppressions = await visit.app.suppressions.of_recipient(visit.tx, visit.scope, person.id)
    shows = {
        "person": person,
        "attributes": {name: str(value) for name, value in person.attributes.items()},
        "rows": story.items if story else (),
        "next": story.next if story else None,
        "suppressions": suppressions,
        "wishes": await wishes_of(visit, person.id),
    }
    return View(template="recipient.html", shows=shows)


PAGES: Final[tuple[Page, ...]] = (recipients, recipient)
