"""Keys, the audit log, and for the platform's keys the choice of a tenant."""

from datetime import timedelta
from typing import Final

from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import Forbidden, Refused
from waypost.kernel.tenancy import PLATFORM_ONLY, Permission

_PAGE: Final = 50
_LASTS: Final = {"": None, "30": timedelta(days=30), "90": timedelta(days=90), "365": timedelta(days=365)}


@page("GET", "/keys", Permission.KEYS_MANAGE)
async def keys(visit: Visit) -> Shown:
    found = await visit.app.keys.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    shows = {"keys": found.items, "next": found.next, "now": visit.app.clock.now(), "own": visit.scope.key_id}
    return View(template="keys.html", shows=shows)


@page("GET", "/keys/new", Permission.KEYS_MANAGE)
async def new_key(visit: Visit) -> Shown:
    return _form(visit)


@page("POST", "/keys", Permission.KEYS_MANAGE)
async def create_key(visit: Visit) -> Shown:
    """The secret is in this one answer, and nowhere else."""
    name, scopes = visit.given("name"), visit.form.get("scopes", ())
    lasts = _LASTS.get(visit.given("lasts"))
    try:
        made = await visit.app.keys.create(
            visit.tx,
            visit.scope,
            name=name,
            scopes=scopes,
            expires_at=visit.app.clock.now() + lasts if lasts else None,
        )
    except (Refused, Forbidden) as refusal:
        pointers = {error.pointer.split("/")[1]: error.message for error in getattr(refusal, "errors", ())}
        return _form(visit, name=name, scopes=scopes, trouble=pointers or {"scopes": refusal.detail})
    return View(template="key_made.html", shows={"key": made.key, "secret": made.secret})


@page("POST", "/keys/{id}/revoke", Permission.KEYS_MANAGE)
async def revoke_key(visit: Visit) -> Shown:
    await visit.app.keys.revoke(visit.tx, visit.scope, visit.id("key"))
    return Redirect(to="/keys")


@page("GET", "/audit", Permission.AUDIT_READ)
async def audit(visit: Visit) -> Shown:
    found = await visit.app.audit.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    rows = [(entry, {name: str(value) for name, value in entry.detail.items()}) for entry in found.items]
    return View(template="audit.html", shows={"rows": rows, "next": found.next})


@page("GET", "/tenants", None)
async def tenants(visit: Visit) -> Shown:
    if not visit.session.chooses_tenants:
        raise Forbidden("Only keys of the platform choose a tenant.", code="missing_scope")
    if not visit.scope.is_platform or Permission.TENANTS_MANAGE not in visit.scope.permissions:
        return View(template="tenants.html", shows={"tenants": None, "next": None})
    found = await visit.app.tenants.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    return View(template="tenants.html", shows={"tenants": found.items, "next": found.next})


@page("POST", "/tenants/act", None)
async def act_for_tenant(visit: Visit) -> Shown:
    tenant = visit.given("tenant") or None
    opened = await visit.app.sessions.act_for(visit.token, tenant, visit.scope.request_id)
    if tenant is not None and opened.session.scope.tenant_id != tenant:
        raise Forbidden("This key may not act for that tenant, or there is none of this id.", code="unknown_tenant")
    return Redirect(to="/" if tenant else "/tenants", token=opened.token)


PAGES: Final[tuple[Page, ...]] = (keys, new_key, create_key, revoke_key, audit, tenants, act_for_tenant)


def _form(visit: Visit, *, name: str = "", scopes: tuple[str, ...] = (), trouble: dict[str, str] | None = None) -> View:
    offered = visit.scope.held if visit.scope.is_platform else visit.scope.held - PLATFORM_ONLY
    shows = {
        "name": name,
        "chosen": list(scopes),
        "offered": [permission.value for permission in Permission if permission in offered],
        "trouble": trouble or {},
        "made_by": ids.show("key", visit.scope.key_id),
    }
    return View(template="key_new.html", shows=shows, status=422 if trouble else 200)
