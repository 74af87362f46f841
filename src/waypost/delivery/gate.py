"""The gate: may this message go to this person now? One pure function, asked at submit and again at dispatch.

Rules are tried in the order of `RULES`; the first that objects decides. A new rule is one function with a place in that
list, the fact it rests on in a few words, and what it must know in `GateFacts`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from waypost.delivery.gate_model import (
    ALLOWED,
    DEFERRED,
    Allow,
    Defer,
    GateFacts,
    MessageKind,
    Objection,
    Question,
    Skip,
    SkipReason,
    Verdict,
)
from waypost.kernel.vocabulary import Category, Priority
from waypost.preferences.model import ALL_MARKETING
from waypost.preferences.quiet_hours import quiet_until, zone_of
from waypost.preferences.rules import consents, objection
from waypost.suppression.model import OptOut
from waypost.suppression.rules import opt_out_stops, stands_against

__all__ = [
    "ALLOWED",
    "DEFERRED",
    "RULES",
    "Allow",
    "Defer",
    "GateFacts",
    "MessageKind",
    "Objection",
    "Question",
    "Rule",
    "Skip",
    "SkipReason",
    "Step",
    "Verdict",
    "decide",
    "walk",
]

_PASSES_AT_NIGHT: Final = frozenset({Category.SECURITY, Category.TRANSACTIONAL})
_ALLOW: Final = Allow()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    name: str
    objects: Callable[[Question], Objection | None]
    tell: Callable[[Question], str]
    """The fact, whatever the rule says about it; for `explain`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one rule says, whether or not one before it has already decided."""

    rule: str
    verdict: Verdict
    fact: str


def decide(
    facts: GateFacts,
    *,
    category: Category,
    expires_at: datetime,
    now: datetime,
    priority: Priority = Priority.NORMAL,
) -> Verdict:
    question = Question(facts=facts, category=category, priority=priority, expires_at=expires_at, now=now)
    for rule in RULES:
        if (found := rule.objects(question)) is not None:
            return found
    return _ALLOW


def walk(question: Question) -> list[Step]:
    """Every rule's word, in order: the first that objects decides."""
    return [Step(rule=rule.name, verdict=rule.objects(question) or _ALLOW, fact=rule.tell(question)) for rule in RULES]


def _tenant(asked: Question) -> Objection | None:
    if asked.facts.tenant_active:
        return None
    return Skip(reason=SkipReason.TENANT_INACTIVE, rule="tenant")


def _expiry(asked: Question) -> Objection | None:
    if asked.expires_at > asked.now:
        return None
    return Skip(reason=SkipReason.EXPIRED, rule="expiry", fact={"expires_at": asked.expires_at.isoformat()})


def _recipient(asked: Question) -> Objection | None:
    return Skip(reason=SkipReason.RECIPIENT_ERASED, rule="recipient") if asked.facts.erased else None


def _address(asked: Question) -> Objection | None:
    status = asked.facts.address_status
    if status is None:
        return Skip(reason=SkipReason.NO_ADDRESS, rule="address")
    if status == "active":
        return None
    reason = SkipReason.ADDRESS_REVOKED if status == "revoked" else SkipReason.SUPPRESSED
    return Skip(reason=reason, rule="address", fact={"status": status})


def _suppression(asked: Question) -> Objection | None:
    if asked.facts.suppressions:
        reason = asked.facts.suppressions[0].value
    elif asked.facts.platform_suppressed:
        reason = "platform"
    else:
        return None
    return Skip(reason=SkipReason.SUPPRESSED, rule="suppression", fact={"suppression": reason})


def _opt_out(asked: Question) -> Objection | None:
    if not asked.facts.opt_outs:
        return None
    against = _opt_out_against(asked)
    if against is None or not opt_out_stops(asked.category, reminders=asked.facts.policy.opt_out_stops_reminders):
        return None
    fact = {"category": asked.category.word, "topic": against.topic or "all marketing"}
    return Skip(reason=SkipReason.OPTED_OUT, rule="opt_out", fact=dict(fact))


def _opt_out_against(asked: Question) -> OptOut | None:
    topic = asked.facts.topic.key if asked.facts.topic else None
    return next((one for one in asked.facts.opt_outs if stands_against(one, topic)), None)


def _preference(asked: Question) -> Objection | None:
    facts = asked.facts
    against = objection(facts.policy, facts.channel, asked.category, facts.topic, facts.choice)
    if against is None:
        return None
    fact = {"channel": facts.channel.word, "topic": facts.topic.key if facts.topic else None}
    return Skip(reason=SkipReason(against.value), rule="preference", fact=dict(fact))


def _consent(asked: Question) -> Objection | None:
    if asked.category is not Category.MARKETING or consents(asked.facts.policy.consent_policy, asked.facts.consent):
        return None
    fact = {"consent": asked.facts.consent.value, "policy": asked.facts.policy.consent_policy.value}
    return Skip(reason=SkipReason.NO_CONSENT, rule="consent", fact=dict(fact))


def _quiet_hours(asked: Question) -> Objection | None:
    quiet = asked.facts.quiet_hours or asked.facts.policy.quiet_hours
    if quiet is None or asked.category in _PASSES_AT_NIGHT:
        return None
    if asked.priority is Priority.URGENT and asked.category is not Category.MARKETING:
        return None
    zone = asked.facts.timezone or asked.facts.policy.timezone
    until = quiet_until(quiet, zone_of(zone), asked.now)
    if until is None:
        return None
    # It never waits past its own end: then the rule of expiry has the last word.
    fact = {"quiet_hours": str(quiet), "timezone": zone}
    return Defer(until=min(until, asked.expires_at), rule="quiet_hours", fact=dict(fact))


def _frequency_cap(asked: Question) -> Objection | None:
    limits = asked.facts.limits
    if limits is None or limits.cap is None or not limits.is_capped or asked.category is not Category.MARKETING:
        return None
    fact = {"max": limits.cap.max, "seconds": limits.cap.seconds}
    return Skip(reason=SkipReason.FREQUENCY_CAP, rule="frequency_cap", fact=dict(fact))


def _rate_limit(asked: Question) -> Objection | None:
    """Security messages are counted, but never wait."""
    full = asked.facts.limits.full if asked.facts.limits else None
    if full is None or asked.category is Category.SECURITY:
        return None
    fact = {"of": full.whose.word, "per": full.span.word, "limit": full.limit}
    return Defer(until=min(full.until, asked.expires_at), rule="rate_limit", fact=dict(fact))


def _sender_capacity(asked: Question) -> Objection | None:
    full = asked.facts.no_room
    if full is None:
        return None
    return Defer(until=min(full.until, asked.expires_at), rule=full.rule, fact={"sender_account": full.account})


def _tell_expiry(asked: Question) -> str:
    return f"expires {asked.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _tell_suppression(asked: Question) -> str:
    if asked.facts.suppressions:
        return asked.facts.suppressions[0].value
    return "platform" if asked.facts.platform_suppressed else "none"


def _tell_opt_out(asked: Question) -> str:
    against = _opt_out_against(asked)
    if against is None:
        return "none"
    return "all marketing" if against.topic == ALL_MARKETING else f"topic {against.topic}"


def _tell_preference(asked: Question) -> str:
    facts, choice = asked.facts, asked.facts.choice
    if facts.topic is not None:
        key = facts.topic.key
        if facts.topic.mandatory:
            return f"topic {key} is mandatory"
        if choice is not None and key in choice.topics:
            return f"topic {key} is {_on(choice.topics[key])} by choice"
    if choice is not None and choice.enabled is False:
        return f"channel {facts.channel.word} is off by choice"
    if choice is not None and asked.category in choice.categories:
        return f"category {asked.category.word} is {_on(choice.categories[asked.category])} by choice"
    if facts.topic is not None:
        return f"topic {facts.topic.key} is {_on(facts.topic.on_by_default)} by default"
    enabled = facts.policy.channels.get(facts.channel, True)
    return "nothing chosen" if enabled else f"channel {facts.channel.word} is off by default"


def _tell_consent(asked: Question) -> str:
    if asked.category is not Category.MARKETING:
        return f"not needed for {asked.category.word}"
    return f"{asked.facts.consent.value}, policy {asked.facts.policy.consent_policy.value}"


def _tell_quiet_hours(asked: Question) -> str:
    quiet = asked.facts.quiet_hours or asked.facts.policy.quiet_hours
    if quiet is None or quiet.start == quiet.end:
        return "none"
    return f"{quiet} {asked.facts.timezone or asked.facts.policy.timezone}"


def _tell_frequency_cap(asked: Question) -> str:
    limits = asked.facts.limits
    if limits is None or limits.cap is None:
        return "none"
    return f"{limits.marketing_sent} of {limits.cap.max} sent"


def _tell_rate_limit(asked: Question) -> str:
    limits = asked.facts.limits
    if limits is None:
        return "none"
    full = limits.full
    return f"{full.limit} per {full.span.word} of the {full.whose.word} reached" if full else "room"


def _tell_sender_capacity(asked: Question) -> str:
    full = asked.facts.no_room
    return "room" if full is None else f"{full.rule} of {full.account}"


def _on(on: bool) -> str:  # noqa: FBT001 — a word for a switch
    return "on" if on else "off"


RULES: Final[tuple[Rule, ...]] = (
    Rule(name="tenant", objects=_tenant, tell=lambda asked: "active" if asked.facts.tenant_active else "not active"),
    Rule(name="expiry", objects=_expiry, tell=_tell_expiry),
    Rule(name="recipient", objects=_recipient, tell=lambda asked: "erased" if asked.facts.erased else "known"),
    Rule(name="address", objects=_address, tell=lambda asked: asked.facts.address_status or "none"),
    Rule(name="suppression", objects=_suppression, tell=_tell_suppression),
    Rule(name="opt_out", objects=_opt_out, tell=_tell_opt_out),
    Rule(name="preference", objects=_preference, tell=_tell_preference),
    Rule(name="consent", objects=_consent, tell=_tell_consent),
    Rule(name="quiet_hours", objects=_quiet_hours, tell=_tell_quiet_hours),
    Rule(name="frequency_cap", objects=_frequency_cap, tell=_tell_frequency_cap),
    Rule(name="rate_limit", objects=_rate_limit, tell=_tell_rate_limit),
    Rule(name="sender_capacity", objects=_sender_capacity, tell=_tell_sender_capacity),
)
