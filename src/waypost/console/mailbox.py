"""What the catch-all received."""

import re
from typing import Final

from waypost.console.visit import Page, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import Permission
from waypost.mailbox.read import Mailbox
from waypost.mailbox.summary import subject_of

_PAGE: Final = 50
_LONGEST_SHOWN: Final = 256 * 1024
# Our own Message-ID names the notification.
_MESSAGE_ID: Final = re.compile(rb"^message-id:\s*<(?P<ulid>[0-9a-z]{26})@", re.IGNORECASE | re.MULTILINE)


@page("GET", "/mailbox", Permission.MAILBOX_READ)
async def mailbox(visit: Visit) -> Shown:
    found = await _mailbox(visit).page(visit.tx, visit.scope, cursor=visit.asked("cursor"), limit=_PAGE)
    return View(template="mailbox.html", shows={"letters": found.items, "next": found.next})


@page("GET", "/mailbox/{id}", Permission.MAILBOX_READ)
async def letter(visit: Visit) -> Shown:
    letter_id = visit.id("mbx")
    raw = await _mailbox(visit).raw(visit.tx, visit.scope, letter_id)
    head, _, body = raw[:_LONGEST_SHOWN].partition(b"\r\n\r\n")
    named = _MESSAGE_ID.search(head)
    shows = {
        "at": ids.moment_of(letter_id),
        "id": ids.show("mbx", letter_id),
        "subject": subject_of(raw),
        "head": head.decode("utf-8", "replace"),
        "body": body.decode("utf-8", "replace"),
        "size": len(raw),
        "is_cut": len(raw) > _LONGEST_SHOWN,
        "message": f"ntf_{named['ulid'].decode().upper()}" if named else "",
    }
    return View(template="letter.html", shows=shows)


PAGES: Final[tuple[Page, ...]] = (mailbox, letter)


def _mailbox(visit: Visit) -> Mailbox:
    if visit.app.mailbox is None:
        raise NotFound("The catch-all mailbox does not run here.")
    return visit.app.mailbox
