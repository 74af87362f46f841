"""Who is told what has happened: endpoints, their health, and every call that was made."""

from typing import Final

from waypost.console.forms import by_field
from waypost.console.moments import read_moment
from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import Conflict, NotFound, Refused, refuse
from waypost.kernel.tenancy import Permission
from waypost.outbox.catalogue import CATALOGUE
from waypost.outbox.describe import event_id
from waypost.outbox.endpoints import EndpointChange
from waypost.outbox.webhook_model import DeliveryState, EndpointStatus

_PAGE: Final = 50
_EVERYTHING: Final = "*"
_REPLAYS_SHOWN: Final = 5


@page("GET", "/webhooks", Permission.WEBHOOKS_READ)
async def webhooks(visit: Visit) -> Shown:
    found = await visit.app.webhooks.endpoints.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    return View(template="webhooks.html", shows={"endpoints": found.items, "next": found.next})


@page("GET", "/webhooks/new", Permission.WEBHOOKS_MANAGE)
async def new_webhook(visit: Visit) -> Shown:
    return _form()


@page("POST", "/webhooks", Permission.WEBHOOKS_MANAGE)
async def create_webhook(visit: Visit) -> Shown:
    """The secret is in this one answer, and nowhere else."""
    url, description, events = visit.given("url"), visit.given("description"), visit.form.get("events", ())
    try:
        made = await visit.app.webhooks.endpoints.create(
            visit.tx, visit.scope, url=url, events=events, description=description
        )
    except (Refused, Conflict) as refusal:
        return _form(url=url, description=description, events=events, trouble=by_field(refusal, "url"))
    return _secret(made.endpoint.id, made.secret, "Here is the endpoint's secret")


@page("GET", "/webhooks/{id}", Permission.WEBHOOKS_READ)
async def webhook(visit: Visit) -> Shown:
    return await _show(visit)


@page("POST", "/webhooks/{id}/replay", Permission.WEBHOOKS_MANAGE)
async def replay_webhook(visit: Visit) -> Shown:
    try:
        since = read_moment(visit.given("from"), "/from")
        if since is None:
            raise refuse("/from", "required", "Say from when on.")
        until = read_moment(visit.given("to"), "/to")
        await visit.app.webhooks.deliveries.replay(visit.tx, visit.scope, visit.id("whe"), since=since, until=until)
    except Refused as refusal:
        return await _show(visit, trouble=refusal.detail)
    return _back(visit)


@page("POST", "/webhooks/{id}/test", Permission.WEBHOOKS_MANAGE)
async def test_webhook(visit: Visit) -> Shown:
    await visit.app.webhooks.deliveries.test(visit.tx, visit.scope, visit.id("whe"))
    return _back(visit)


@page("POST", "/webhooks/{id}/rotate", Permission.WEBHOOKS_MANAGE)
async def rotate_webhook(visit: Visit) -> Shown:
    made = await visit.app.webhooks.endpoints.rotate(visit.tx, visit.scope, visit.id("whe"))
    return _secret(made.endpoint.id, made.secret, "Here is the new secret")


@page("POST", "/webhooks/{id}/enable", Permission.WEBHOOKS_MANAGE)
async def enable_webhook(visit: Visit) -> Shown:
    return await _turn(visit, EndpointStatus.ENABLED)


@page("POST", "/webhooks/{id}/disable", Permission.WEBHOOKS_MANAGE)
async def disable_webhook(visit: Visit) -> Shown:
    return await _turn(visit, EndpointStatus.DISABLED)


@page("POST", "/webhooks/{id}/remove", Permission.WEBHOOKS_MANAGE)
async def remove_webhook(visit: Visit) -> Shown:
    await visit.app.webhooks.endpoints.remove(visit.tx, visit.scope, visit.id("whe"))
    return Redirect(to="/webhooks")


@page("POST", "/webhooks/{id}/retry", Permission.WEBHOOKS_MANAGE)
async def retry_webhook(visit: Visit) -> Shown:
    delivery_id = ids.read("whd", visit.given("delivery"))
    if delivery_id is None:
        raise NotFound("Nothing here has this id.")
    await visit.app.webhooks.deliveries.retry(visit.tx, visit.scope, visit.id("whe"), delivery_id)
    return _back(visit)


PAGES: Final[tuple[Page, ...]] = (
    webhooks,
    new_webhook,
    create_webhook,
    webhook,
    test_webhook,
    rotate_webhook,
    enable_webhook,
    disable_webhook,
    remove_webhook,
    retry_webhook,
    replay_webhook,
)


async def _show(visit: Visit, *, trouble: str = "") -> View:
    endpoint_id = visit.id("whe")
    endpoint = await visit.app.webhooks.endpoints.get(visit.tx, visit.scope, endpoint_id)
    states = {state.value: state for state in DeliveryState}
    chosen = states.get(visit.asked("status") or "")
    deliveries = visit.app.webhooks.deliveries
    log = await deliveries.page(visit.tx, visit.scope, endpoint_id, visit.asked("cursor"), _PAGE, state=chosen)
    replays = await deliveries.replays(visit.tx, visit.scope, endpoint_id, None, _REPLAYS_SHOWN)
    rows = [
        {
            "id": ids.show("whd", one.delivery.id),
            "event": event_id(visit.scope.tenant_id, one.delivery.told),
            "type": CATALOGUE[one.delivery.told.kind].name if one.delivery.told.kind in CATALOGUE else "unknown",
            "at": one.delivery.told.at,
            "state": one.delivery.state.value,
            "due": one.delivery.due if one.delivery.state is DeliveryState.WAITING else None,
            "attempts": one.attempts,
        }
        for one in log.items
    ]
    shows = {
        "endpoint": endpoint,
        "shown": ids.show("whe", endpoint_id),
        "deliveries": rows,
        "next": log.next,
        "states": list(states),
        "chosen": chosen.value if chosen else "",
        "replays": replays.items,
        "kept_days": deliveries.kept.days,
        "given": {"from": visit.given("from"), "to": visit.given("to")},
        "trouble": trouble,
    }
    return View(template="webhook.html", shows=shows, status=422 if trouble else 200)


def _back(visit: Visit) -> Redirect:
    return Redirect(to=f"/webhooks/{ids.show('whe', visit.id('whe'))}")


async def _turn(visit: Visit, status: EndpointStatus) -> Redirect:
    change = EndpointChange(status=status)
    await visit.app.webhooks.endpoints.change(visit.tx, visit.scope, visit.id("whe"), change)
    return _back(visit)


def _secret(endpoint_id: object, secret: str, title: str) -> View:
    return View(template="webhook_made.html", shows={"id": endpoint_id, "secret": secret, "title": title})


def _form(
    *,
    url: str = "",
    description: str = "",
    events: tuple[str, ...] = (_EVERYTHING,),
    trouble: dict[str, str] | None = None,
) -> View:
    offered = [(_EVERYTHING, "Everything")]
    offered += [(entry.name, entry.sentence) for entry in CATALOGUE.values() if entry.subscribable]
    shows = {
        "url": url,
        "description": description,
        "chosen": list(events),
        "offered": offered,
        "trouble": trouble or {},
    }
    return View(template="webhook_new.html", shows=shows, status=422 if trouble else 200)
