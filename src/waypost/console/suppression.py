"""Addresses that are not written to."""

from typing import Final

from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import Channel
from waypost.suppression.desk import Order
from waypost.suppression.model import SuppressionReason

_PAGE: Final = 50
_BY_HAND: Final = (SuppressionReason.MANUAL, SuppressionReason.COMPLAINT, SuppressionReason.COMPLIANCE)


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


PAGES: Final[tuple[Page, ...]] = (suppressions, suppress, release)


async def _listing(visit: Visit, *, address: str = "", trouble: str = "", status: int = 200) -> View:
    found = await visit.app.suppressions.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    shows = {
        "suppressions": found.items,
        "next": found.next,
        "reasons": [reason.value for reason in _BY_HAND],
        "address": address,
        "notes": visit.given("notes"),
        "trouble": trouble,
        "messages": {one.id: ids.show("ntf", one.notification_id) for one in found.items if one.notification_id},
    }
    return View(template="suppressions.html", shows=shows, status=status)
