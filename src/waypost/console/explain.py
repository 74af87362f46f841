"""Why somebody would, or would not, get a message: a form that answers in plain words."""

from typing import Final

from waypost.console.moments import read_moment
from waypost.console.visit import Page, Shown, View, Visit, page
from waypost.console.words import reason
from waypost.delivery.gate import Allow, Defer, Skip, Step
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES, Channel, Priority
from waypost.notifications.explain import Case, Explanation

_FIELDS: Final = ("recipient", "channel", "category", "topic", "template", "priority", "at")
_ASKS: Final = {
    "tenant": "Is the tenant active?",
    "expiry": "Is it still wanted?",
    "recipient": "Is the recipient there?",
    "address": "Is there an address?",
    "suppression": "Is the address free of suppressions?",
    "opt_out": "Has the recipient not opted out?",
    "preference": "Do the recipient's choices allow it?",
    "consent": "Is there consent?",
    "quiet_hours": "Is it outside quiet hours?",
    "frequency_cap": "Have they had few enough lately?",
    "rate_limit": "Is there room within the limits?",
    "sender_capacity": "Has the sender room?",
}


@page("GET", "/explain", Permission.NOTIFICATIONS_READ)
async def explain(visit: Visit) -> Shown:
    fields = {name: visit.asked(name) or "" for name in _FIELDS}
    shows: dict[str, object] = {
        "fields": fields,
        "channels": list(CHANNELS),
        "categories": list(CATEGORIES),
        "priorities": list(PRIORITIES),
        "found": None,
        "answer": "",
        "tone": "",
        "steps": [],
        "trouble": "",
    }
    if fields["recipient"]:
        try:
            found = await visit.app.wishes.explain(visit.tx, visit.scope, _case(fields))
        except Refused as refusal:
            return View(template="explain.html", shows={**shows, "trouble": refusal.detail}, status=refusal.status)
        shows |= {"found": found, "answer": _answer(found), "tone": _tone(found), "steps": _steps(found)}
    return View(template="explain.html", shows=shows)


PAGES: Final[tuple[Page, ...]] = (explain,)


def _case(fields: dict[str, str]) -> Case:
    return Case(
        recipient=fields["recipient"],
        channel=CHANNELS.get(fields["channel"], Channel.EMAIL),
        category=CATEGORIES.get(fields["category"]),
        topic=fields["topic"] or None,
        template=fields["template"] or None,
        priority=PRIORITIES.get(fields["priority"], Priority.NORMAL),
        at=read_moment(fields["at"], "/at"),
    )


def _answer(found: Explanation) -> str:
    match found.verdict:
        case Allow():
            return "It would be sent."
        case Skip(reason=word):
            return f"It would not be sent: {reason(word.value)}."
        case Defer(until=until):
            return f"It would wait until {until:%d %B %Y, %H:%M} UTC: {reason(found.reason)}."


def _tone(found: Explanation) -> str:
    return {"allow": "good", "skip": "held", "defer": "busy"}[found.word]


def _steps(found: Explanation) -> list[dict[str, str]]:
    """Every question in its order; what comes after the one that decides is told, but did not count."""
    shown: list[dict[str, str]] = []
    decided = False
    for step in found.steps:
        yes = isinstance(step.verdict, Allow)
        shown.append(
            {
                "asks": _ASKS.get(step.rule, step.rule),
                "answer": "yes" if yes else _no(step),
                "tone": "good" if yes else ("calm" if decided else "held"),
                "fact": step.fact,
                "decides": "" if yes or decided else "decides",
            }
        )
        decided = decided or not yes
    return shown


def _no(step: Step) -> str:
    return "not yet" if isinstance(step.verdict, Defer) else "no"
