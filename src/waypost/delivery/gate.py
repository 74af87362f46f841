"""The gate: may this message go to this person now? One pure function, asked at submit and again at dispatch.

Rules are tried in the order of `_RULES`; the first that objects decides. A new rule (preferences, quiet hours, caps,
rate limits, capacity) is one function in that list and its facts in `GateFacts`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category
from waypost.suppression.model import SuppressionReason
from waypost.suppression.rules import HARD, blocks

ALLOWED: Final = 1
DEFERRED: Final = 2
_SKIPPED: Final = 100


class SkipReason(StrEnum):
    """The closed list of reasons for which a message is not sent. Appended to, never reordered: codes count from it."""

    TENANT_INACTIVE = "tenant_inactive"
    EXPIRED = "expired"
    NO_ADDRESS = "no_address"
    ADDRESS_REVOKED = "address_revoked"
    RECIPIENT_ERASED = "recipient_erased"
    SUPPRESSED = "suppressed"
    OPTED_OUT = "opted_out"
    THROTTLED = "throttled"

    @property
    def code(self) -> int:
        return _SKIPPED + list(SkipReason).index(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class GateFacts:
    """What the system of record knows about one recipient and address."""

    tenant_active: bool
    erased: bool
    address_status: str | None
    """None: there is no address."""
    suppressions: tuple[SuppressionReason, ...] = ()
    """Those in force, gravest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Allow:
    code: int = ALLOWED


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    reason: SkipReason
    rule: str
    fact: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def code(self) -> int:
        return self.reason.code


@dataclass(frozen=True, kw_only=True, slots=True)
class Defer:
    until: datetime
    rule: str
    fact: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    code: int = DEFERRED


@dataclass(frozen=True, kw_only=True, slots=True)
class _Question:
    facts: GateFacts
    category: Category
    expires_at: datetime
    now: datetime


Verdict = Allow | Skip | Defer


def decide(facts: GateFacts, *, category: Category, expires_at: datetime, now: datetime) -> Verdict:
    question = _Question(facts=facts, category=category, expires_at=expires_at, now=now)
    for rule in _RULES:
        if (objection := rule(question)) is not None:
            return objection
    return _ALLOW


def _tenant_is_active(asked: _Question) -> Skip | Defer | None:
    if asked.facts.tenant_active:
        return None
    return Skip(reason=SkipReason.TENANT_INACTIVE, rule="tenant")


def _is_still_wanted(asked: _Question) -> Skip | Defer | None:
    if asked.expires_at > asked.now:
        return None
    return Skip(reason=SkipReason.EXPIRED, rule="expiry", fact={"expires_at": asked.expires_at.isoformat()})


def _recipient_is_there(asked: _Question) -> Skip | Defer | None:
    return Skip(reason=SkipReason.RECIPIENT_ERASED, rule="recipient") if asked.facts.erased else None


def _address_is_active(asked: _Question) -> Skip | Defer | None:
    status = asked.facts.address_status
    if status is None:
        return Skip(reason=SkipReason.NO_ADDRESS, rule="address")
    if status == "active":
        return None
    reason = SkipReason.ADDRESS_REVOKED if status == "revoked" else SkipReason.SUPPRESSED
    return Skip(reason=reason, rule="address", fact={"status": status})


def _address_is_not_suppressed(asked: _Question) -> Skip | Defer | None:
    for reason in asked.facts.suppressions:
        if reason in HARD:
            return Skip(reason=SkipReason.SUPPRESSED, rule="suppression", fact={"suppression": reason.value})
    return None


def _recipient_has_not_opted_out(asked: _Question) -> Skip | Defer | None:
    for reason in asked.facts.suppressions:
        if blocks(reason, asked.category):
            return Skip(reason=SkipReason.OPTED_OUT, rule="opt_out", fact={"category": asked.category.word})
    return None


_ALLOW: Final = Allow()
_RULES: Final[tuple[Callable[[_Question], Skip | Defer | None], ...]] = (
    _tenant_is_active,
    _is_still_wanted,
    _recipient_is_there,
    _address_is_active,
    _address_is_not_suppressed,
    _recipient_has_not_opted_out,
)
