"""States, reasons and steps in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from waypost.delivery.model import State
from waypost.kernel.jsontypes import JsonValue
from waypost.notifications.model import TimelineStep

_TONES: Final = {
    State.SCHEDULED: "calm",
    State.QUEUED: "busy",
    State.DISPATCHING: "busy",
    State.DISPATCHED: "good",
    State.DELIVERED: "good",
    State.BOUNCED: "bad",
    State.FAILED: "bad",
    State.SUPPRESSED: "held",
    State.CANCELLED: "calm",
    State.EXPIRED: "calm",
    State.UNCONFIRMED: "doubt",
}

STANDS: Final = {
    State.SCHEDULED: "It waits for its time.",
    State.QUEUED: "It waits to be sent.",
    State.DISPATCHING: "A worker is sending it now.",
    State.DISPATCHED: "The mail server took it.",
    State.DELIVERED: "It reached the mailbox.",
    State.BOUNCED: "It came back.",
    State.FAILED: "It could not be sent.",
    State.SUPPRESSED: "It was held back and will not be sent.",
    State.CANCELLED: "It was cancelled before it went out.",
    State.EXPIRED: "Its time ran out before it could be sent.",
    State.UNCONFIRMED: "Nobody can say whether it arrived, and it is not sent again.",
}

_REASONS: Final = {
    "address_invalid": "the address is not valid",
    "address_revoked": "the address was taken away",
    "address_unknown": "the mailbox does not exist",
    "anchor_invalid": "the time in the event cannot be read",
    "anchor_missing": "the event names no time",
    "authentication": "the mail server did not accept our sign-in",
    "by_request": "someone dropped it",
    "cancelled": "someone cancelled it",
    "cancelled_by_event": "an event dropped it",
    "category_off": "the recipient wants nothing of this category",
    "channel_off": "the recipient wants nothing on this channel",
    "connection": "the mail server could not be reached",
    "content_refused": "the content was refused",
    "dead_letter": "it took its worker down time and again",
    "domain_not_verified": "the domain it would be sent from is not verified",
    "erased": "the recipient has been erased",
    "expired": "its time ran out",
    "frequency_cap": "the recipient has had enough of these lately",
    "holdout": "the recipient is in the group that gets nothing, for comparison",
    "mailbox_disabled": "the mailbox is closed",
    "mailbox_full": "the mailbox is full",
    "message_too_large": "the message is too large",
    "no_address": "there is no address on this channel",
    "no_consent": "the recipient has not consented to marketing",
    "no_recipients": "nobody was found to send it to",
    "opted_out": "the recipient has opted out",
    "other": "the mail server gave another reason",
    "policy": "the mail server's policy refuses us",
    "protocol": "the mail server did not understand",
    "provider_pace": "the mailbox provider is written to more slowly for now",
    "quiet_hours": "it is night where the recipient lives, or another quiet time",
    "recipient_erased": "the recipient has been erased",
    "render_failed": "the content could not be rendered",
    "seen": "it was seen on another channel",
    "sender_limit": "the sender account has sent all it may today",
    "sender_pace": "the sender account waits between two batches",
    "sender_paused": "the sender account is paused",
    "slow_down": "the mail server asked us to slow down",
    "suppressed": "the address is suppressed",
    "tenant_inactive": "the tenant is not active",
    "throttled": "the same was sent a short while ago",
    "timeout": "the mail server did not answer in time",
    "tls": "no safe connection could be made",
    "too_far_ahead": "its time is too far ahead",
    "too_late": "its time was over",
    "too_many_recipients": "more people than one event may reach",
    "topic_off": "the recipient does not want this topic",
    "trigger_disabled": "its trigger is disabled",
    "trigger_gone": "its trigger is gone",
    "worker_lost": "the worker was lost on the way",
}

_STEPS: Final = {
    "accepted": ("Accepted", "busy"),
    "attempt_started": ("Attempt {attempt} began", "busy"),
    "attempt_accepted": ("The mail server took it", "good"),
    "attempt_deferred": ("The mail server said: later", "held"),
    "attempt_rejected": ("The mail server refused it", "bad"),
    "attempt_unreachable": ("The mail server took nothing", "held"),
    "attempt_in_doubt": ("Nobody can say whether the mail server took it", "doubt"),
    "cancelled": ("Cancelled", "calm"),
    "clicked": ("Link {link} was followed", "good"),
    "dead_letter": ("Set aside", "bad"),
    "deferred": ("Put off", "held"),
    "expired": ("Expired", "calm"),
    "opened": ("Opened", "good"),
    "resent": ("Resent as", "calm"),
    "suppressed": ("Held back", "held"),
    "withheld": ("Held back", "held"),
}
_TOLD_APART: Final = frozenset({"attempt", "channel", "link", "resend_of", "resent_as"})
_CLIENTS: Final = {
    "browser": "a person's browser or mail program",
    "prefetch": "a program that loads ahead",
    "proxy": "a mail provider, on behalf of its reader",
    "scanner": "a program that checks links",
    "unknown": "nobody can say",
}
_MOST_SHOWN: Final = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    at: datetime
    title: str
    tone: str
    reason: str | None
    facts: Mapping[str, str]
    message: str | None = None
    """The id of another message that it is about."""


def tone_of_state(state: State) -> str:
    return _TONES[state]


def spaced(word: str) -> str:
    return word.replace("_", " ")


def reason(word: str | None) -> str:
    return _REASONS.get(word, spaced(word)) if word else ""


def step_of(step: TimelineStep) -> Step:
    title, tone = _STEPS.get(step.event, (spaced(step.event).capitalize(), "calm"))
    other = step.detail.get("resend_of") or step.detail.get("resent_as")
    if "resend_of" in step.detail:
        title = "Accepted as a resend of"
    return Step(
        at=step.at,
        title=title.format(attempt=step.detail.get("attempt", ""), link=step.detail.get("link", "")).strip(),
        tone=tone,
        reason=reason(step.reason) or None,
        facts={_name(name): _fact(name, value) for name, value in step.detail.items() if name not in _TOLD_APART},
        message=None if other is None else str(other),
    )


def _name(name: str) -> str:
    return {"latency_ms": "took", "client": "by", "url": "to"}.get(name) or spaced(name)


def _fact(name: str, value: JsonValue) -> str:
    if name == "client":
        return _CLIENTS.get(str(value), str(value))
    shown = f"{value} ms" if name.endswith("_ms") else str(value)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
