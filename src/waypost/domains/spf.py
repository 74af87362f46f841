"""SPF as RFC 7208 has it, as far as the question goes: is there one sound record, and does it let our servers send?"""

import re
from dataclasses import dataclass
from typing import Final

from waypost.domains.model import CheckResult
from waypost.domains.ports import Dns, Seen

MOST_LOOKUPS: Final = 10
_VERSION: Final = re.compile(r"v=spf1(?: |\Z)", re.IGNORECASE)
_TERM: Final = re.compile(r"[-+?~]?(?P<name>include|a|mx|ptr|exists|redirect)(?:[:=](?P<target>[^/\s]*))?(?:/.*)?\Z")


@dataclass(slots=True)
class _Walk:
    lookups: int = 0
    reached: bool = False
    unsure: bool = False


async def check_spf(dns: Dns, name: str, include: str | None) -> tuple[CheckResult, str]:
    """Whether the name's record is sound and, where `include` is given, leads there."""
    found = await dns.txt(name)
    if found.seen is Seen.UNKNOWN:
        return CheckResult.UNKNOWN, "The name servers did not answer."
    records = [text for text in found.values if _VERSION.match(text)]
    if not records:
        return CheckResult.FAILED, "There is no SPF record."
    if len(records) > 1:
        return CheckResult.FAILED, "There are several SPF records; receivers then count none of them."
    walk = _Walk()
    await _walk(dns, records[0], include, walk)
    if walk.lookups > MOST_LOOKUPS:
        return CheckResult.FAILED, f"It needs more than {MOST_LOOKUPS} look-ups; receivers then ignore it."
    if include is None:
        return CheckResult.PASSED, "There is one record, and it is sound."
    if walk.reached:
        return CheckResult.PASSED, "It lets our servers send."
    if walk.unsure:
        return CheckResult.UNKNOWN, "The name servers did not answer for all that it includes."
    return CheckResult.FAILED, f"It does not include {include}."


async def _walk(dns: Dns, record: str, include: str | None, walk: _Walk) -> None:
    for term in record.lower().split()[1:]:
        match = _TERM.match(term)
        if match is None:
            continue
        walk.lookups += 1
        if walk.lookups > MOST_LOOKUPS:
            return
        target: str = (match["target"] or "").removesuffix(".")
        if match["name"] not in ("include", "redirect") or not target or "%" in target:
            continue
        if target == include:
            walk.reached = True
        answer = await dns.txt(target)
        walk.unsure = walk.unsure or answer.seen is Seen.UNKNOWN
        inner = [text for text in answer.values if _VERSION.match(text)]
        if len(inner) == 1:
            await _walk(dns, inner[0], include, walk)
