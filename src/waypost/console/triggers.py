"""What events start, and what waits for its time."""

from typing import Final

import msgspec

from waypost.console.forms import by_field
from waypost.console.trigger_words import deeds
from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import Conflict, Refused
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS
from waypost.triggers.model import TimerFilter, TimerState, TimerView, Trigger, TriggerSpec

_PAGE: Final = 50
_NEXT_TIMERS: Final = 20
_TIMER_WORDS: Final = ("pending", "moved", "fired", "cancelled", "skipped")
_TIMER_TONES: Final = {"pending": "busy", "moved": "busy", "fired": "good", "cancelled": "calm", "skipped": "held"}
_TEXTS: Final = ("event_type", "template", "recipient", "anchor", "offset", "subject_key", "reschedules", "cancels")


@page("GET", "/triggers", Permission.TRIGGERS_READ)
async def triggers(visit: Visit) -> Shown:
    desk, event_type = visit.app.events.triggers, visit.asked("event_type")
    found = await desk.page(visit.tx, visit.scope, event_type, visit.asked("cursor"), _PAGE)
    hidden = await desk.overridden(visit.tx, found.items)
    shows = {
        "triggers": [_row(visit, one, overridden=one.id in hidden) for one in found.items],
        "next": found.next,
        "event_type": event_type or "",
    }
    return View(template="triggers.html", shows=shows)


@page("GET", "/triggers/new", Permission.TRIGGERS_WRITE)
async def new_trigger(visit: Visit) -> Shown:
    return _form(dict.fromkeys(_TEXTS, "") | {"channel": "email"}, {})


@page("POST", "/triggers", Permission.TRIGGERS_WRITE)
async def create_trigger(visit: Visit) -> Shown:
    given = {name: visit.given(name) for name in _TEXTS}
    spec: JsonObject = {name: text or None for name, text in given.items()}
    spec["event_type"] = given["event_type"]
    chosen = visit.given("channel") if visit.given("channel") in CHANNELS else "email"
    if given["template"]:
        spec["channel"] = chosen
    try:
        made = await visit.app.events.triggers.create(
            visit.tx, visit.scope, msgspec.convert(spec, TriggerSpec), key=None
        )
    except (Refused, Conflict) as refusal:
        return _form(given | {"channel": chosen}, by_field(refusal, "event_type"))
    return Redirect(to=f"/triggers/{ids.show('trg', made.id)}")


@page("GET", "/triggers/timers", Permission.TRIGGERS_READ)
async def timers(visit: Visit) -> Shown:
    recipient, subject = visit.asked("recipient"), visit.asked("subject_key")
    state = visit.asked("state") if visit.asked("state") in _TIMER_WORDS else None
    wanted = TimerFilter(recipient=recipient, subject_key=subject, state=state)
    found = await visit.app.events.timers.page(visit.tx, visit.scope, wanted, visit.asked("cursor"), _PAGE)
    shows = {
        "timers": [_timer_row(one) for one in found.items],
        "next": found.next,
        "states": _TIMER_WORDS,
        "asked": {"recipient": recipient or "", "subject_key": subject or "", "state": state or ""},
    }
    return View(template="timers.html", shows=shows)


@page("POST", "/triggers/timers/{id}/cancel", Permission.TRIGGERS_WRITE)
async def cancel_timer(visit: Visit) -> Shown:
    await visit.app.events.timers.cancel(visit.tx, visit.scope, visit.id("tmr"))
    return Redirect(to="/triggers/timers?state=cancelled")


@page("GET", "/triggers/{id}", Permission.TRIGGERS_READ)
async def trigger(visit: Visit) -> Shown:
    desk = visit.app.events
    found = await desk.triggers.get(visit.tx, visit.scope, visit.id("trg"))
    hidden = await desk.triggers.overridden(visit.tx, [found])
    waiting = await desk.timers.page(visit.tx, visit.scope, TimerFilter(trigger_id=found.id), None, _NEXT_TIMERS)
    fields = msgspec.to_builtins(found.spec)
    shows = {
        "trigger": _row(visit, found, overridden=found.id in hidden),
        "facts": [(name.replace("_", " "), _fact(value)) for name, value in fields.items() if name != "enabled"],
        "timers": [_timer_row(one) for one in waiting.items],
    }
    return View(template="trigger.html", shows=shows)


@page("POST", "/triggers/{id}/enable", Permission.TRIGGERS_WRITE)
async def enable_trigger(visit: Visit) -> Shown:
    return await _turn(visit, enabled=True)


@page("POST", "/triggers/{id}/disable", Permission.TRIGGERS_WRITE)
async def disable_trigger(visit: Visit) -> Shown:
    return await _turn(visit, enabled=False)


@page("POST", "/triggers/{id}/remove", Permission.TRIGGERS_WRITE)
async def remove_trigger(visit: Visit) -> Shown:
    await visit.app.events.triggers.remove(visit.tx, visit.scope, visit.id("trg"))
    return Redirect(to="/triggers")


PAGES: Final[tuple[Page, ...]] = (
    triggers,
    new_trigger,
    create_trigger,
    timers,
    cancel_timer,
    trigger,
    enable_trigger,
    disable_trigger,
    remove_trigger,
)


async def _turn(visit: Visit, *, enabled: bool) -> Redirect:
    await visit.app.events.triggers.change(visit.tx, visit.scope, visit.id("trg"), {"enabled": enabled})
    return Redirect(to=f"/triggers/{ids.show('trg', visit.id('trg'))}")


def _row(visit: Visit, one: Trigger, *, overridden: bool) -> dict[str, object]:
    return {
        "id": ids.show("trg", one.id),
        "key": one.key,
        "event_type": one.spec.event_type,
        "deeds": deeds(one.spec),
        "enabled": one.enabled,
        "is_own": one.tenant_id == visit.tx.tenant_id,
        "overridden": overridden,
        "updated_at": one.updated_at,
    }


def _timer_row(view: TimerView) -> dict[str, object]:
    timer = view.timer
    return {
        "id": ids.show("tmr", timer.id),
        "kind": timer.kind.value,
        "trigger": ids.show("trg", timer.trigger_id) if timer.trigger_id else "",
        "recipient": view.recipient or "",
        "subject_key": timer.subject_key or "",
        "state": timer.word,
        "tone": _TIMER_TONES[timer.word],
        "waits": timer.state is TimerState.WAITING,
        "reason": timer.reason or "",
        "due": timer.due,
        "collected": timer.collected,
        "ended_at": timer.ended_at,
    }


def _fact(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _form(given: dict[str, str], trouble: dict[str, str]) -> View:
    shows = {"given": given, "trouble": {"": "", **trouble}, "channels": list(CHANNELS)}
    return View(template="trigger_new.html", shows=shows, status=422 if trouble else 200)
