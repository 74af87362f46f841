"""One look at a domain's records. Asks DNS and nothing else; what it means is decided in `rules`."""

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from waypost.domains.model import Algorithm, Check, CheckName, CheckResult, DkimKey, Domain, KeyState, Purpose
from waypost.domains.ports import Dns, DnsAnswer, Seen
from waypost.domains.records import dkim_name, ownership_name, ownership_value, spf_is_required
from waypost.domains.rules import Places
from waypost.domains.spf import check_spf

_SILENT: Final = "The name servers did not answer."
_TAG: Final = re.compile(r"\s*([a-z][a-z0-9_]*)\s*=\s*([^;]*)", re.IGNORECASE)
_MOST_LEVELS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    checks: tuple[Check, ...]
    keys: tuple[bool | None, ...]
    """Whether each key's record was found, in the order of the domain's keys; None where nobody said."""


async def look_at(domain: Domain, dns: Dns, places: Places) -> Look:
    """All questions go out together."""
    wanted: list[Awaitable[Check]] = [_ownership(domain, dns)]
    sends = Purpose.FROM in domain.purposes
    if Purpose.RETURN_PATH in domain.purposes:
        wanted.append(_return_path(domain, dns, places))
    if Purpose.TRACKING in domain.purposes:
        wanted.append(_tracking(domain, dns, places))
    if sends or Purpose.RETURN_PATH in domain.purposes:
        wanted.append(_spf(domain, dns, places))
    if sends:
        wanted.append(_dmarc(domain.name, dns))
    keys, (ownership, *others) = await asyncio.gather(
        _keys(domain, dns) if sends else _none(domain), asyncio.gather(*wanted)
    )
    dkim = [_dkim(domain, keys)] if sends else []
    return Look(checks=(ownership, *dkim, *others), keys=keys)


async def look_at_operators(name: str, dns: Dns, places: Places) -> tuple[Check, Check]:
    """SPF and DMARC of a domain that is the operator's own, which no tenant's keys sign for."""
    (result, said), dmarc = await asyncio.gather(check_spf(dns, name, places.spf_include), _dmarc(name, dns))
    return Check(name=CheckName.SPF, result=result, required=False, said=said), dmarc


async def _none(domain: Domain) -> tuple[bool | None, ...]:
    return (None,) * len(domain.keys)


async def _keys(domain: Domain, dns: Dns) -> tuple[bool | None, ...]:
    answers = await asyncio.gather(*(dns.txt(dkim_name(key.selector, domain.name)) for key in domain.keys))
    return tuple(_holds(answer, key) for key, answer in zip(domain.keys, answers, strict=True))


def _holds(answer: DnsAnswer, key: DkimKey) -> bool | None:
    """Whether the record says our key; panels of DNS providers like to fold and to space it."""
    if answer.seen is Seen.UNKNOWN:
        return None
    for text in answer.values:
        tags = tags_of(text)
        kind = tags.get("k", "rsa").lower()
        if kind == key.algorithm.value and "".join(tags.get("p", "").split()) == key.public_key:
            return True
    return False


def _dkim(domain: Domain, found: tuple[bool | None, ...]) -> Check:
    signing = [
        seen
        for key, seen in zip(domain.keys, found, strict=True)
        if key.algorithm is Algorithm.RSA and key.state is not KeyState.RETIRED
    ]
    if any(signing):
        result, said = CheckResult.PASSED, "The record holds our key."
    elif None in signing:
        result, said = CheckResult.UNKNOWN, _SILENT
    else:
        result, said = CheckResult.FAILED, "No record holds the RSA key; it must be exactly the value shown."
    return Check(name=CheckName.DKIM, result=result, required=True, said=said)


async def _ownership(domain: Domain, dns: Dns) -> Check:
    answer = await dns.txt(ownership_name(domain.name))
    if answer.seen is Seen.UNKNOWN:
        result, said = CheckResult.UNKNOWN, _SILENT
    elif ownership_value(domain.proof) in (text.strip() for text in answer.values):
        result, said = CheckResult.PASSED, "The record is there."
    else:
        result, said = CheckResult.FAILED, "The record is missing, or says something else."
    return Check(name=CheckName.OWNERSHIP, result=result, required=True, said=said)


async def _spf(domain: Domain, dns: Dns, places: Places) -> Check:
    result, said = await check_spf(dns, domain.name, places.spf_include)
    return Check(name=CheckName.SPF, result=result, required=spf_is_required(domain, places), said=said)


async def _dmarc(name: str, dns: Dns) -> Check:
    """The domain's own policy, or that of the nearest domain above it which has one."""
    labels = name.split(".")
    result, said = CheckResult.FAILED, "There is no DMARC record."
    for level in range(min(len(labels) - 1, _MOST_LEVELS)):
        answer = await dns.txt("_dmarc." + ".".join(labels[level:]))
        if answer.seen is Seen.UNKNOWN:
            result, said = CheckResult.UNKNOWN, _SILENT
            break
        policies = [tags for text in answer.values if (tags := tags_of(text)).get("v", "").upper() == "DMARC1"]
        if len(policies) == 1:
            own = policies[0].get("p", "none")
            policy = own if level == 0 else policies[0].get("sp", own)
            if policy.lower() in ("none", "quarantine", "reject"):
                above = "" if level == 0 else " of a domain above"
                result, said = CheckResult.PASSED, f"The policy{above} is `{policy.lower()}`."
            else:
                said = "There is a record whose policy cannot be read."
            break
        if policies:
            said = "There are several DMARC records; receivers then count none of them."
            break
    return Check(name=CheckName.DMARC, result=result, required=False, said=said)


async def _return_path(domain: Domain, dns: Dns, places: Places) -> Check:
    alias, exchange = await asyncio.gather(dns.cname(domain.name), dns.mx(domain.name))
    host = places.return_path_host
    if host in alias.values or host in exchange.values:
        result, said = CheckResult.PASSED, "Bounces come back to us."
    elif Seen.UNKNOWN in (alias.seen, exchange.seen):
        result, said = CheckResult.UNKNOWN, _SILENT
    else:
        result, said = CheckResult.FAILED, "Neither a CNAME nor an MX record leads to us."
    return Check(name=CheckName.RETURN_PATH, result=result, required=True, said=said)


async def _tracking(domain: Domain, dns: Dns, places: Places) -> Check:
    alias = await dns.cname(domain.name)
    if places.tracking_host in alias.values:
        result, said = CheckResult.PASSED, "The name leads to us."
    elif alias.seen is Seen.UNKNOWN:
        result, said = CheckResult.UNKNOWN, _SILENT
    else:
        result, said = CheckResult.FAILED, "No CNAME record leads to us."
    return Check(name=CheckName.TRACKING, result=result, required=True, said=said)


def tags_of(text: str) -> dict[str, str]:
    """`a=b; c=d`, as DKIM and DMARC records are written; of a tag given twice the first counts."""
    tags: dict[str, str] = {}
    for part in text.split(";"):
        if found := _TAG.match(part):
            tags.setdefault(found[1].lower(), found[2].strip())
    return tags
