"""Running it: what waits, what is paused, what was given up, and what needs a person."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from waypost.alerts.rules import summary
from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.delivery.dead_letter_model import WORDS, DeadLetterFilter, DeadLetterReason
from waypost.delivery.pause_model import PauseScope
from waypost.delivery.pauses import shown_subject
from waypost.kernel import ids
from waypost.kernel.errors import Conflict, NotFound, Refused
from waypost.kernel.tenancy import Permission

_PAGE: Final = 25
_DAY: Final = "24h"


@page("GET", "/operations", Permission.OPERATIONS_READ)
async def operations(visit: Visit) -> Shown:
    return await _shown(visit)


@page("POST", "/operations/pauses", Permission.OPERATIONS_WRITE)
async def pause(visit: Visit) -> Shown:
    scopes = {scope.value: scope for scope in PauseScope}
    kind = scopes.get(visit.given("scope"), PauseScope.TENANT)
    subject = visit.given("subject") or None
    try:
        await visit.app.operations.pauses.pause(
            visit.tx, visit.scope, kind=kind, subject=subject, reason=visit.given("reason")
        )
    except (Refused, Conflict) as refusal:
        return await _shown(visit, trouble={"subject": refusal.detail}, status=refusal.status)
    return Redirect(to="/operations")


@page("POST", "/operations/pauses/{id}/end", Permission.OPERATIONS_WRITE)
async def end_pause(visit: Visit) -> Shown:
    await visit.app.operations.pauses.resume(visit.tx, visit.scope, visit.id("pau"))
    return Redirect(to="/operations")


@page("POST", "/operations/dead-letters/redrive", Permission.OPERATIONS_WRITE)
async def redrive(visit: Visit) -> Shown:
    """One by its id, or all that the page's filter shows."""
    named: list[UUID] | None = None
    if visit.given("notification"):
        one = ids.read("ntf", visit.given("notification"))
        if one is None:
            raise NotFound("Nothing here has this id.")
        named = [one]
    wanted = None if named else DeadLetterFilter(reason=_reason(visit.given("reason")))
    done = await visit.app.operations.dead_letters.redrive(visit.tx, visit.scope, ids=named, wanted=wanted)
    if done.job_id is not None:
        said = "There are many: a job sends them again."
    else:
        said = f"{done.redriven} on their way again"
        if done.refused:
            said += f", {len(done.refused)} not: {', '.join(sorted({why.value for _, why in done.refused}))}"
    return await _shown(visit, said=said)


@page("POST", "/operations/alert-targets", Permission.OPERATIONS_WRITE)
async def add_target(visit: Visit) -> Shown:
    """The secret of a webhook is in this one answer, and nowhere else."""
    led = visit.given("target")
    is_url = "://" in led
    try:
        made = await visit.app.alerts.targets.create(
            visit.tx, visit.scope, email=None if is_url else led, url=led if is_url else None
        )
    except (Refused, Conflict) as refusal:
        return await _shown(visit, trouble={"target": refusal.detail}, status=refusal.status)
    return await _shown(visit, secret=made.secret or "")


@page("POST", "/operations/alert-targets/{id}/test", Permission.OPERATIONS_WRITE)
async def test_target(visit: Visit) -> Shown:
    await visit.app.alerts.targets.test(visit.tx, visit.scope, visit.id("alt"))
    return Redirect(to="/operations")


@page("POST", "/operations/alert-targets/{id}/remove", Permission.OPERATIONS_WRITE)
async def remove_target(visit: Visit) -> Shown:
    await visit.app.alerts.targets.remove(visit.tx, visit.scope, visit.id("alt"))
    return Redirect(to="/operations")


PAGES: Final[tuple[Page, ...]] = (
    operations,
    pause,
    end_pause,
    redrive,
    add_target,
    test_target,
    remove_target,
)


def _reason(text: str | None) -> DeadLetterReason | None:
    return {reason.value: reason for reason in DeadLetterReason}.get(text or "")


async def _shown(
    visit: Visit,
    *,
    trouble: Mapping[str, str] | None = None,
    said: str = "",
    secret: str = "",
    status: int = 200,
) -> View:
    tx, scope, desk = visit.tx, visit.scope, visit.app.operations
    standing = await desk.queue.look(tx, scope)
    reason = _reason(visit.asked("reason") or visit.given("reason"))
    letters = await desk.dead_letters.page(tx, scope, DeadLetterFilter(reason=reason), visit.asked("cursor"), _PAGE)
    alerts = await visit.app.alerts.alerts.page(tx, scope, None, _PAGE)
    shows = {
        "at": standing.at,
        "lanes": [
            {
                "lane": lane,
                "age": None if lane.oldest_due is None else round((standing.at - lane.oldest_due).total_seconds()),
            }
            for lane in standing.lanes
        ],
        "workers": standing.workers_alive,
        "pauses": [
            {"pause": one, "id": ids.show("pau", one.id), "subject": shown_subject(scope.tenant_id, one)}
            for one in await desk.pauses.all(tx, scope)
        ],
        "scopes": [one.value for one in PauseScope],
        "letters": [
            {"letter": one, "id": ids.show("ntf", one.notification_id), "words": WORDS[one.reason]}
            for one in letters.items
        ],
        "next": letters.next,
        "reason": reason.value if reason else "",
        "reasons": [one.value for one in DeadLetterReason],
        "alerts": [{"alert": one, "words": summary(one)} for one in alerts.items],
        "targets": [
            {"target": one, "id": ids.show("alt", one.id)} for one in await visit.app.alerts.targets.all(tx, scope)
        ],
        "given": {name: visit.given(name) for name in ("scope", "subject", "reason", "target")},
        "trouble": {"subject": "", "target": "", **(trouble or {})},
        "said": said,
        "secret": secret,
    }
    return View(template="operations.html", shows=shows, status=status)
