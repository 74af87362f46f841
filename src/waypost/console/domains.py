"""What may be sent from: domains, the records to set for them, and what the last check found."""

from typing import Final

from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.domains.manage import DomainView
from waypost.domains.model import CheckResult, Purpose
from waypost.kernel import ids
from waypost.kernel.errors import Conflict, Refused
from waypost.kernel.tenancy import Permission

_PAGE: Final = 50
_PURPOSES: Final = (
    (Purpose.FROM.value, "Send from it", "It stands in From, and its keys sign your mail."),
    (Purpose.RETURN_PATH.value, "Get bounces at it", "Mail that cannot be delivered comes back there."),
    (Purpose.TRACKING.value, "Track on it", "Links and pixels lead there. Needs a name of its own."),
)


@page("GET", "/domains", Permission.DOMAINS_READ)
async def domains(visit: Visit) -> Shown:
    found = await visit.app.domains.manage.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    rows = [{"domain": view.domain, "purposes": sorted(view.domain.purposes)} for view in found.items]
    return View(template="domains.html", shows={"domains": rows, "next": found.next})


@page("GET", "/domains/new", Permission.DOMAINS_MANAGE)
async def new_domain(visit: Visit) -> Shown:
    return _form()


@page("POST", "/domains", Permission.DOMAINS_MANAGE)
async def create_domain(visit: Visit) -> Shown:
    name, given = visit.given("name"), visit.form.get("purposes", ())
    known = {purpose.value: purpose for purpose in Purpose}
    try:
        made = await visit.app.domains.manage.create(
            visit.tx, visit.scope, name=name, purposes=[known[word] for word in given if word in known]
        )
    except (Refused, Conflict) as refusal:
        trouble = {error.pointer.split("/")[1]: error.message for error in getattr(refusal, "errors", ())}
        return _form(name=name, chosen=given, trouble=trouble or {"name": refusal.detail})
    return Redirect(to=f"/domains/{ids.show('dom', made.domain.id)}")


@page("GET", "/domains/{id}", Permission.DOMAINS_READ)
async def domain(visit: Visit) -> Shown:
    return _one(await visit.app.domains.manage.get(visit.tx, visit.scope, visit.id("dom")))


@page("POST", "/domains/{id}/verify", Permission.DOMAINS_MANAGE)
async def verify_domain(visit: Visit) -> Shown:
    await visit.app.domains.verify.check(visit.tx, visit.scope, visit.id("dom"))
    return _back(visit)


@page("POST", "/domains/{id}/rotate", Permission.DOMAINS_MANAGE)
async def rotate_domain(visit: Visit) -> Shown:
    try:
        await visit.app.domains.manage.rotate_keys(visit.tx, visit.scope, visit.id("dom"))
    except Conflict as refusal:
        found = await visit.app.domains.manage.get(visit.tx, visit.scope, visit.id("dom"))
        return _one(found, trouble=refusal.detail)
    return _back(visit)


@page("POST", "/domains/{id}/remove", Permission.DOMAINS_MANAGE)
async def remove_domain(visit: Visit) -> Shown:
    await visit.app.domains.manage.remove(visit.tx, visit.scope, visit.id("dom"))
    return Redirect(to="/domains")


PAGES: Final[tuple[Page, ...]] = (
    domains,
    new_domain,
    create_domain,
    domain,
    verify_domain,
    rotate_domain,
    remove_domain,
)


def _one(view: DomainView, *, trouble: str = "") -> View:
    failed = [check for check in view.domain.checks if check.result is not CheckResult.PASSED]
    shows = {
        "domain": view.domain,
        "purposes": sorted(view.domain.purposes),
        "shown": ids.show("dom", view.domain.id),
        "records": view.records,
        "findings": failed,
        "trouble": trouble,
    }
    return View(template="domain.html", shows=shows, status=409 if trouble else 200)


def _back(visit: Visit) -> Redirect:
    return Redirect(to=f"/domains/{ids.show('dom', visit.id('dom'))}")


def _form(
    *,
    name: str = "",
    chosen: tuple[str, ...] = (Purpose.FROM.value,),
    trouble: dict[str, str] | None = None,
) -> View:
    shows = {"name": name, "chosen": list(chosen), "offered": _PURPOSES, "trouble": trouble or {}}
    return View(template="domain_new.html", shows=shows, status=422 if trouble else 200)
