"""Pure decisions: who may send as whom, what a check leads to, and when to look again."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from waypost.domains.model import (
    Check,
    CheckName,
    CheckResult,
    DkimKey,
    Domain,
    DomainState,
    KeyState,
    Purpose,
    Standing,
)
from waypost.domains.ports import DomainEvent
from waypost.kernel.address import Address, normalise_email, split_mailbox
from waypost.kernel.errors import Refused, refuse
from waypost.kernel.vocabulary import TenantMode

LONGEST_NAME: Final = 220
"""Selectors and underscored names are put in front of it, and a name in DNS has at most 253 characters."""
GRACE: Final = timedelta(days=3)
LEAST_FAILURES: Final = 3
DAILY: Final = timedelta(days=1)
HOURLY: Final = timedelta(hours=1)
PENDING_FOR: Final = timedelta(days=7)
"""So long a new domain is looked at every hour, then daily."""
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """What the operator's own records are called: where a tenant's records lead."""

    message_domain: str
    default_from: str
    """`Name <address>`, or the address alone."""
    return_path_host: str
    tracking_host: str
    spf_include: str | None = None

    @property
    def default_address(self) -> str:
        """In its one spelling; as it is where it cannot be one that anybody else could name."""
        text = self.default_from.strip()
        bare = text[text.rfind("<") + 1 : -1] if text.endswith(">") else text
        found = normalise_email(bare)
        return found.text if isinstance(found, Address) else bare.lower()

    @property
    def reserved(self) -> frozenset[str]:
        """Names that are the operator's, whoever might prove otherwise."""
        return frozenset(
            {self.message_domain, self.return_path_host, self.tracking_host, self.default_address.rpartition("@")[2]}
        )


def read_name(text: str) -> str:
    """A domain in its one spelling; refuses what is none."""
    name = text.strip(" ").removesuffix(".")
    found = normalise_email(f"postmaster@{name}") if "@" not in name else None
    spelled = found.text.rpartition("@")[2] if isinstance(found, Address) else ""
    labels = spelled.split(".")
    if len(labels) < 2 or len(spelled) > LONGEST_NAME or not all(_LABEL.match(label) for label in labels):
        message = "This is not a public domain name. Write it as `mail.example.com`."
        raise refuse("/name", "invalid_domain", message)
    return spelled


def domain_of(mailbox: str) -> str | None:
    """The domain of `Name <name@example.com>`; None where it is no mailbox."""
    found = split_mailbox(mailbox)
    return found.address.text.rpartition("@")[2] if found else None


def may_send_as(mailbox: str | None, standing: Standing, default_address: str) -> bool:
    """The one rule of who may stand in `From` and `Sender`.

    None is the operator's default, which everybody may use, under any display name. Other addresses of the operator's
    domain are not anybody's. A sandbox tenant writes what it likes: nothing of it leaves the house."""
    if mailbox is None or standing.mode is TenantMode.SANDBOX:
        return True
    found = split_mailbox(mailbox)
    if found is None:
        return False
    if found.address.text == default_address:
        return True
    return standing.holds(found.address.text.rpartition("@")[2], Purpose.FROM)


def not_verified(pointer: str) -> Refused:
    message = "The domain of this address is not verified for you. Add it under `/v1/domains`."
    return refuse(pointer, "domain_not_verified", message)


def choose_return_path(sender_domain: str | None, held: Sequence[str]) -> str | None:
    """The return-path domain that is nearest to the one in `From`, so that SPF counts for DMARC; else any of them."""
    if not held:
        return None
    name = sender_domain or ""
    related = [one for one in held if one == name or one.endswith(f".{name}") or name.endswith(f".{one}")]
    return min(related or held, key=lambda one: (len(one), one))


def verdict_of(checks: Iterable[Check]) -> CheckResult:
    """What the required checks say together: one that failed decides, then one that nobody could answer."""
    results = {check.result for check in checks if check.required}
    for worst in (CheckResult.FAILED, CheckResult.UNKNOWN):
        if worst in results:
            return worst
    return CheckResult.PASSED


def judge(domain: Domain, checks: Sequence[Check], now: datetime, *, taken: bool) -> tuple[Domain, DomainEvent | None]:
    """The domain after a check, and what is new about it.

    `taken`: another tenant holds the name. An answer that did not come changes nothing but when to look again."""
    held = domain.is_held
    if not held and taken and verdict_of(checks) is CheckResult.PASSED:
        said = "It is verified for another account of this installation. Ask its operator."
        exclusive = Check(name=CheckName.EXCLUSIVE, result=CheckResult.FAILED, required=True, said=said)
        checks = [*checks, exclusive]
    looked = replace(domain, checks=tuple(checks), checked_at=now)
    match verdict_of(checks):
        case CheckResult.UNKNOWN:
            return replace(looked, next_check_at=now + HOURLY), None
        case CheckResult.PASSED:
            event = None if domain.state is DomainState.VERIFIED else DomainEvent.VERIFIED
            verified = replace(
                looked,
                state=DomainState.VERIFIED,
                verified_at=domain.verified_at if held else now,
                failing_since=None,
                failures=0,
                next_check_at=now + DAILY,
            )
            return verified, event
        case CheckResult.FAILED:
            return _failed(looked, now)


def _failed(domain: Domain, now: datetime) -> tuple[Domain, DomainEvent | None]:
    if domain.state is DomainState.PENDING:
        young = now - domain.created_at < PENDING_FOR
        return replace(domain, next_check_at=now + (HOURLY if young else DAILY)), None
    since = domain.failing_since or now
    failing = replace(domain, failing_since=since, failures=domain.failures + 1, next_check_at=now + DAILY)
    if domain.state is DomainState.VERIFIED:
        return replace(failing, state=DomainState.FAILING), DomainEvent.FAILING
    if domain.state is DomainState.FAILING and failing.failures >= LEAST_FAILURES and now - since >= GRACE:
        return replace(failing, state=DomainState.FAILED), DomainEvent.FAILED
    return failing, None


def turn_keys(domain: Domain, found: Sequence[bool | None], now: datetime) -> Domain:
    """The keys after their records have been looked for, in the order of `domain.keys`.

    A key whose record is seen signs from then on, and the one before it retires. A key whose record has gone signs no
    more as long as another one does. What is retired long enough is forgotten."""
    keys = [
        replace(key, found=key.found if seen is None else seen) for key, seen in zip(domain.keys, found, strict=True)
    ]
    arrived = {key.algorithm for key in keys if key.state is KeyState.NEXT and key.found}
    turned: list[DkimKey] = []
    for key in keys:
        if key.state is KeyState.NEXT and key.found:
            turned.append(replace(key, state=KeyState.ACTIVE, active_at=now))
        elif key.state is KeyState.ACTIVE and key.algorithm in arrived:
            until = now + timedelta(days=domain.overlap_days)
            turned.append(replace(key, state=KeyState.RETIRED, retired_until=until))
        elif key.state is KeyState.RETIRED and key.retired_until is not None and key.retired_until <= now:
            continue
        else:
            turned.append(key)
    in_order = [key for key in turned if key.state is KeyState.ACTIVE and key.found]
    if in_order:
        turned = [
            replace(key, state=KeyState.NEXT, active_at=None) if key.state is KeyState.ACTIVE and not key.found else key
            for key in turned
        ]
    return replace(domain, keys=tuple(turned))
