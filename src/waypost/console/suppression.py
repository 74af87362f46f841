"""Addresses that are not written to."""

from typing import Final

from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import Refused
from waypost.kernel.paging import Page as Found
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import Channel
from waypost.suppression.desk import Order, Wanted
from waypost.suppression.model import Suppression, SuppressionReason

_PAGE: Final = 50
_BY_HAND: Final = (SuppressionReason.MANUAL, SuppressionReason.COMPLAINT, SuppressionReason.COMPLIANCE)

_REASONS: Final = tuple(reason.value for reason in SuppressionReason)


@page("GET", "/suppressions", Permission.SUPPRESSIONS_READ)
async def suppressions(visit: Visit) -> Shown:
    return await _listing(visit)


@page("POST", "/suppressions", Permission.SUPPRESSIONS_WRITE)
async def suppress(visit: Visit) -> Shown:
    reasons = {reason.value: reason for reason in _BY_HAND}
    reason = reasons.get(visit.given("reason"), SuppressionReason.MANUAL)
    address = visit.given("address")
    try:
        notes = visit.given("notes") or None
        order = Order(channel=Channel.EMAIL, address=address, reason=reason, notes=notes)
        await visit.app.suppressions.suppress(visit.tx, visit.scope, order)
    except Refused as refusal:
        return await _listing(visit, address=address, trouble=refusal.detail, status=refusal.status)
    return Redirect(to="/suppressions")


@page("POST", "/suppressions/{id}/release", Permission.SUPPRESSIONS_WRITE)
async def release(visit: Visit) -> Shown:
    await visit.app.suppressions.release(visit.tx, visit.scope, visit.id("sup"))
    return Redirect(to="/suppressions")


def _channel_of(address: str) -> Channel:
    return Channel.SMS if address.startswith("+") else Channel.EMAIL


PAGES: Final[tuple[Page, ...]] = (suppressions, suppress, release)


async def _listing(visit: Visit, *, address: str = "", trouble: str = "", status: int = 200) -> View:
    find, why = visit.asked("find") or "", visit.asked("why") or ""
    wanted = Wanted(
        channel=_channel_of(find) if find else None,
        reason=SuppressionReason(why) if why in _REASONS else None,
        address=find or None,
    )
    missed = ""
    found: Found[Suppression] = Found(items=[], next=None)
    try:
        found = await visit.app.suppressions.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE, wanted)
    except Refused as refusal:
        if refusal.code != "invalid_address":
            raise
        missed, status = refusal.detail, refusal.status
    shows = {
        "find": find,
        "why": why,
        "every_reason": _REASONS,
        "missed": missed,
        "suppressions": found.items,
        "next": found.next,
        "reasons": [reason.value for reason in _BY_HAND],
        "address": address,
        "notes": visit.given("notes"),
        "trouble": trouble,
        "messages": {one.id: ids.show("ntf", one.notification_id) for one in found.items if one.notification_id},
    }
    return View(template="suppressions.html", shows=shows, status=status)
