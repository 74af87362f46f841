"""Inboxes: what stands in each, its posts and how far they reached, posting, taking back, and the counters."""

from collections.abc import Mapping
from typing import Final

from waypost.console.inbox_forms import NOBODY_YET, command_of, fields_of, troubles_of, ttl_of, written_ttl
from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.inbox.model import AudienceKind
from waypost.kernel import ids
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission

_INBOXES: Final = 20
_POSTS: Final = 10
"""Each with its reach, which is counted."""
_AUDIENCES: Final = (
    (AudienceKind.EVERYONE.value, "everyone"),
    (AudienceKind.USERS.value, "these recipients"),
    (AudienceKind.LIST.value, "whoever is on a list now"),
    (AudienceKind.FILTER.value, "whoever fits a filter now"),
)


@page("GET", "/inboxes", Permission.INBOX_READ)
async def inboxes(visit: Visit) -> Shown:
    found = await visit.app.inbox.inboxes.page(visit.tx, visit.scope, visit.asked("cursor"), _INBOXES)
    figures = await visit.app.inbox.inboxes.figures(visit.tx, visit.scope, [one.key for one in found.items])
    rows = [{"inbox": one, "figures": figures[one.key]} for one in found.items]
    return View(template="inboxes.html", shows={"rows": rows, "next": found.next})


@page("GET", "/new-inbox", Permission.INBOX_WRITE)
async def new_inbox(visit: Visit) -> Shown:
    return _form(fields={"key": "", "title": "", "description": "", "ttl": ""}, is_new=True)


@page("POST", "/new-inbox", Permission.INBOX_WRITE)
async def make_inbox(visit: Visit) -> Shown:
    return await _put(visit, visit.given("key"), is_new=True)


@page("GET", "/inboxes/{id}", Permission.INBOX_READ)
async def inbox(visit: Visit) -> Shown:
    key, desk = visit.path["id"], visit.app.inbox
    found = await desk.inboxes.get(visit.tx, visit.scope, key)
    figures = await desk.inboxes.figures(visit.tx, visit.scope, [key])
    posts = await desk.posts.page(visit.tx, visit.scope, key, visit.asked("cursor"), _POSTS)
    reach = await desk.posts.reach(visit.tx, visit.scope, key, [one.id for one in posts.items])
    rows = [
        {"post": one, "id": ids.show("pst", one.id), "reach": far} for one, far in zip(posts.items, reach, strict=True)
    ]
    shows = {"inbox": found, "figures": figures[key], "rows": rows, "next": posts.next}
    return View(template="inbox.html", shows=shows)


@page("GET", "/inboxes/{id}/edit", Permission.INBOX_WRITE)
async def edit_inbox(visit: Visit) -> Shown:
    found = await visit.app.inbox.inboxes.get(visit.tx, visit.scope, visit.path["id"])
    fields = {
        "key": found.key,
        "title": found.title,
        "description": found.description,
        "ttl": written_ttl(found.ttl),
    }
    return _form(fields=fields, is_new=False)


@page("POST", "/inboxes/{id}/edit", Permission.INBOX_WRITE)
async def change_inbox(visit: Visit) -> Shown:
    await visit.app.inbox.inboxes.get(visit.tx, visit.scope, visit.path["id"])
    return await _put(visit, visit.path["id"], is_new=False)


@page("GET", "/inboxes/{id}/post", Permission.INBOX_POST)
async def write_post(visit: Visit) -> Shown:
    return await _post_form(visit, NOBODY_YET, {})


@page("POST", "/inboxes/{id}/post", Permission.INBOX_POST)
async def make_post(visit: Visit) -> Shown:
    key, fields = visit.path["id"], fields_of(visit)
    try:
        await visit.app.inbox.posts.post(visit.tx, visit.scope, key, command_of(fields))
    except Refused as refusal:
        return await _post_form(visit, fields, troubles_of(refusal))
    return Redirect(to=f"/inboxes/{key}")


@page("POST", "/inboxes/{id}/redact", Permission.INBOX_POST)
async def redact_post(visit: Visit) -> Shown:
    post_id = ids.read("pst", visit.given("post"))
    if post_id is not None:
        await visit.app.inbox.posts.redact(visit.tx, visit.scope, visit.path["id"], post_id)
    return Redirect(to=f"/inboxes/{visit.path['id']}")


@page("GET", "/inbox-counters", Permission.INBOX_READ)
async def inbox_counters(visit: Visit) -> Shown:
    drifts = await visit.app.inbox.verify(visit.tx, visit.scope)
    return View(template="inbox_counters.html", shows={"drifts": drifts})


PAGES: Final[tuple[Page, ...]] = (
    inboxes,
    new_inbox,
    make_inbox,
    inbox,
    edit_inbox,
    change_inbox,
    write_post,
    make_post,
    redact_post,
    inbox_counters,
)


async def _put(visit: Visit, key: str, *, is_new: bool) -> Shown:
    fields = {"key": key, "title": visit.given("title"), "description": visit.given("description")}
    fields["ttl"] = visit.given("ttl")
    try:
        made = await visit.app.inbox.inboxes.put(
            visit.tx,
            visit.scope,
            key,
            title=fields["title"],
            description=fields["description"],
            ttl=ttl_of(fields["ttl"]),
        )
    except Refused as refusal:
        return _form(fields=fields, is_new=is_new, trouble=troubles_of(refusal))
    return Redirect(to=f"/inboxes/{made.key}")


def _form(*, fields: Mapping[str, str], is_new: bool, trouble: Mapping[str, str] | None = None) -> View:
    shows = {"fields": fields, "is_new": is_new, "trouble": trouble or {}}
    return View(template="inbox_form.html", shows=shows, status=422 if trouble else 200)


async def _post_form(visit: Visit, fields: Mapping[str, str], trouble: Mapping[str, str]) -> View:
    found = await visit.app.inbox.inboxes.get(visit.tx, visit.scope, visit.path["id"])
    shows = {"inbox": found, "fields": fields, "audiences": _AUDIENCES, "trouble": trouble}
    return View(template="inbox_post.html", shows=shows, status=422 if trouble else 200)
