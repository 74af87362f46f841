"""Messages: the live list, one message with everything about it, and its preview."""

import hashlib
from typing import Final

from waypost.console import preview
from waypost.console.visit import Document, Page, Redirect, Shown, Unchanged, View, Visit, page
from waypost.console.words import STANDS, step_of
from waypost.delivery.model import ENDS, State
from waypost.kernel import ids
from waypost.kernel.errors import NotFound, Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES
from waypost.notifications.model import Filter, ShownContent

_STATES: Final = {state.word: state for state in State if state not in (State.DELIVERED, State.BOUNCED)}
_CANCELLABLE: Final = frozenset({State.SCHEDULED, State.QUEUED})
_LIVE: Final = frozenset({State.SCHEDULED, State.QUEUED, State.DISPATCHING})
_TABS: Final = ("html", "text", "source", "headers")
_PAGE: Final = 50


@page("GET", "/messages", Permission.NOTIFICATIONS_READ)
async def messages(visit: Visit) -> Shown:
    return View(template="messages.html", shows=await _rows(visit))


@page("GET", "/messages/rows", Permission.NOTIFICATIONS_READ)
async def message_rows(visit: Visit) -> Shown:
    """What the list asks for every few seconds: nothing, as long as nothing has changed."""
    shows = await _rows(visit)
    if visit.asked("seen") == shows["seen"]:
        return Unchanged()
    return View(template="messages_rows.html", shows=shows)


@page("GET", "/messages/{id}", Permission.NOTIFICATIONS_READ)
async def message(visit: Visit) -> Shown:
    read, found = visit.app.notifications.read, visit.id("ntf")
    detail = await read.detail(visit.tx, visit.scope, found)
    content, trouble = await _content(visit)
    tabs = [tab for tab in _TABS if content is None or content.html is not None or tab not in ("html", "source")]
    asked = visit.asked("tab")
    may_send = Permission.NOTIFICATIONS_SEND in visit.scope.permissions
    shows = {
        "message": detail.summary,
        "id": ids.show("ntf", detail.summary.id),
        "to": detail.to,
        "metadata": {name: str(value) for name, value in detail.metadata.items()},
        "stands": STANDS[detail.summary.status],
        "is_live": detail.summary.status in _LIVE,
        "may_cancel": may_send and detail.summary.status in _CANCELLABLE,
        "may_resend": may_send and detail.summary.status in ENDS and content is not None,
        "resend_once": ids.show("once", ids.mint(visit.app.clock)),
        "resend_of": detail.resend_of,
        "steps": [step_of(step) for step in await read.timeline(visit.tx, visit.scope, found)],
        "attempts": await read.attempts(visit.tx, visit.scope, found),
        "content": content,
        "trouble": trouble,
        "tabs": tabs,
        "tab": asked if asked in tabs else tabs[0],
    }
    return View(template="message.html", shows=shows)


@page("GET", "/messages/{id}/preview", Permission.NOTIFICATIONS_READ)
async def message_preview(visit: Visit) -> Shown:
    content = await visit.app.notifications.read.content(visit.tx, visit.scope, visit.id("ntf"))
    if content.html is None:
        return Document(body=content.text.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")
    return Document(body=preview.inert_html(content.html))


@page("POST", "/messages/{id}/cancel", Permission.NOTIFICATIONS_SEND)
async def cancel_message(visit: Visit) -> Shown:
    await visit.app.notifications.cancel.one(visit.tx, visit.scope, visit.id("ntf"))
    return Redirect(to=f"/messages/{visit.path['id']}")


@page("POST", "/messages/{id}/resend", Permission.NOTIFICATIONS_SEND)
async def resend_message(visit: Visit) -> Shown:
    """What one showing of the page asks for twice is sent once."""
    once = ids.read("once", visit.asked("once") or "")
    key = None if once is None else f"console:{once}"
    accepted = await visit.app.notifications.resend(visit.tx, visit.scope, visit.id("ntf"), key=key)
    return Redirect(to=f"/messages/{ids.show('ntf', accepted.notifications[0].id)}")


PAGES: Final[tuple[Page, ...]] = (
    messages,
    message_rows,
    message,
    message_preview,
    cancel_message,
    resend_message,
)


async def _content(visit: Visit) -> tuple[ShownContent | None, str]:
    try:
        return await visit.app.notifications.read.content(visit.tx, visit.scope, visit.id("ntf")), ""
    except (NotFound, Refused) as refusal:
        return None, refusal.detail


async def _rows(visit: Visit) -> dict[str, object]:
    fields = {name: visit.asked(name) or "" for name in ("status", "category", "recipient")}
    wanted = Filter(
        status=_STATES.get(fields["status"]),
        category=CATEGORIES.get(fields["category"]),
        recipient_id=fields["recipient"] or None,
    )
    cursor = visit.asked("cursor")
    found = await visit.app.notifications.read.page(visit.tx, visit.scope, wanted, cursor, _PAGE)
    newest = ids.read("ntf", visit.asked("newest") or "")
    told = repr([(one.id, one.status, one.reason, one.attempts) for one in found.items])
    return {
        "rows": found.items,
        "fresh": [one.id for one in found.items if newest is not None and one.id > newest],
        "next": found.next,
        "is_live": cursor is None,
        "is_filtered": any(fields.values()),
        "fields": fields,
        "seen": hashlib.sha256(told.encode()).hexdigest()[:16],
        "newest": ids.show("ntf", found.items[0].id) if found.items else "",
        "states": list(_STATES),
        "categories": list(CATEGORIES),
    }
