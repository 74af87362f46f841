"""People: finding them, one person's whole story, and what is changed about them."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.console.wishes import wishes_of
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission
from waypost.notifications.model import Filter
from waypost.recipients.model import RecipientFields, RecipientFilter, RecipientKind
from waypost.suppression.model import Suppression

_STORY: Final = 20
_PAGE: Final = 50
_KINDS: Final = tuple(kind.value for kind in RecipientKind if kind is not RecipientKind.ANONYMOUS)


@page("GET", "/recipients", Permission.RECIPIENTS_READ)
async def recipients(visit: Visit) -> Shown:
    wanted = visit.asked("id")
    if wanted is not None:
        return Redirect(to=f"/recipients/{quote(wanted, safe='')}")
    find, tag, in_list = visit.asked("find"), visit.asked("tag"), visit.asked("list")
    shows: dict[str, object] = {"find": find or "", "tag": tag or "", "list": in_list or "", "trouble": ""}
    status = 200
    try:
        found = await visit.app.people.search.page(
            visit.tx, visit.scope, visit.asked("cursor"), _PAGE, _filter(find, tag, in_list)
        )
        shows |= {"people": found.items, "next": found.next}
    except Refused as refusal:
        shows |= {"people": (), "next": None, "trouble": refusal.detail}
        status = refusal.status
    lists = await visit.app.people.lists.page(visit.tx, visit.scope, None, 100)
    shows["lists"] = [one.key for one in lists.items]
    return View(template="recipients.html", shows=shows, status=status)


@page("GET", "/recipients/{id}", Permission.RECIPIENTS_READ)
async def recipient(visit: Visit) -> Shown:
    return await _story(visit)


@page("POST", "/recipients/{id}", Permission.RECIPIENTS_WRITE)
async def change_recipient(visit: Visit) -> Shown:
    """What the form leaves empty is removed."""
    kind = {one.value: one for one in RecipientKind}.get(visit.given("kind"))
    said = RecipientFields(
        locale=visit.given("locale") or None,
        timezone=visit.given("timezone") or None,
        tags=[tag.strip() for tag in visit.given("tags").split(",") if tag.strip()],
    )
    if kind is not None and kind is not RecipientKind.ANONYMOUS:
        said = RecipientFields(kind=kind, locale=said.locale, timezone=said.timezone, tags=said.tags)
    try:
        changed = await visit.app.recipients.patch(visit.tx, visit.scope, visit.path["id"], said)
    except Refused as refusal:
        return await _story(visit, trouble=" ".join(dict.fromkeys(error.message for error in refusal.errors)))
    return _back_to(changed.id)


@page("POST", "/recipients/{id}/address", Permission.RECIPIENTS_WRITE)
async def give_address(visit: Visit) -> Shown:
    text = visit.given("address")
    said = RecipientFields(phone=text) if text.startswith("+") else RecipientFields(email=text)
    try:
        changed = await visit.app.recipients.patch(visit.tx, visit.scope, visit.path["id"], said)
    except Refused as refusal:
        return await _story(visit, address_trouble=refusal.detail, address=text)
    return _back_to(changed.id)


@page("POST", "/recipients/{id}/merge", Permission.RECIPIENTS_WRITE)
async def merge_recipient(visit: Visit) -> Shown:
    try:
        merged = await visit.app.people.absorb(visit.tx, visit.scope, visit.path["id"], visit.given("from"))
    except Refused as refusal:
        return await _story(visit, merge_trouble=refusal.detail)
    return _back_to(merged.id)


@page("POST", "/recipients/{id}/erase", Permission.RECIPIENTS_WRITE)
async def erase_recipient(visit: Visit) -> Shown:
    certificate = await visit.app.people.erase(visit.tx, visit.scope, visit.path["id"])
    return View(template="erased.html", shows={"certificate": certificate})


PAGES: Final[tuple[Page, ...]] = (
    recipients,
    recipient,
    change_recipient,
    give_address,
    merge_recipient,
    erase_recipient,
)


async def _story(
    visit: Visit, *, trouble: str = "", address_trouble: str = "", address: str = "", merge_trouble: str = ""
) -> View:
    person = await visit.app.recipients.get(visit.tx, visit.scope, visit.path["id"])
    told = (
        await visit.app.notifications.read.page(
            visit.tx, visit.scope, Filter(recipient_id=person.id), visit.asked("cursor"), _STORY
        )
        if Permission.NOTIFICATIONS_READ in visit.scope.permissions
        else None
    )
    suppressions: Sequence[Suppression] = ()
    if Permission.SUPPRESSIONS_READ in visit.scope.permissions:
        suppressions = await visit.app.suppressions.of_recipient(visit.tx, visit.scope, person.id)
    row = await visit.app.people.lookup.find(visit.tx, person.id)
    lists = await visit.app.people.lists.of_recipient(visit.tx, visit.scope, row.id)
    shows = {
        "person": person,
        "attributes": {name: str(value) for name, value in person.attributes.items()},
        "rows": told.items if told else (),
        "next": told.next if told else None,
        "suppressions": suppressions,
        "lists": lists,
        "wishes": await wishes_of(visit, person.id),
        "kinds": _KINDS,
        "tags": ", ".join(person.tags),
        "trouble": trouble,
        "address": address,
        "address_trouble": address_trouble,
        "merge_trouble": merge_trouble,
    }
    failed = trouble or address_trouble or merge_trouble
    return View(template="recipient.html", shows=shows, status=422 if failed else 200)


def _filter(find: str | None, tag: str | None, in_list: str | None) -> RecipientFilter:
    """One field for everything one may know of someone: an address in full, or how the id begins."""
    if find is None:
        return RecipientFilter(tag=tag, list_key=None if tag else in_list)
    if "@" in find and "." in find.rpartition("@")[2]:
        return RecipientFilter(email=find)
    return RecipientFilter(phone=find) if find.startswith("+") else RecipientFilter(id_prefix=find)


def _back_to(recipient_id: str) -> Redirect:
    return Redirect(to=f"/recipients/{quote(recipient_id, safe='')}")
