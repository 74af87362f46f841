"""What is noticed, and by whose word; who seems to have asked."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from waypost.kernel.tracking import UNSAID, Client, Tracking
from waypost.kernel.vocabulary import Category
from waypost.preferences.scanner import is_machine_agent

OPENS: Final = 1
CLICKS: Final = 2

_BY_CATEGORY: Final = {Category.MARKETING: Tracking(opens=True, clicks=True)}
_LONGEST_AGENT: Final = 500
_NOTHING: Final = Tracking(opens=False, clicks=False)
_PROXIES: Final = re.compile(r"GoogleImageProxy|YahooMailProxy|ggpht\.com|DuckDuckGo-Email|Outlook-iOS-Proxy", re.I)
# All that Apple's mail programs say when they load every picture ahead, on behalf of whoever may read it.
_APPLE_AHEAD: Final = "Mozilla/5.0"


def noticed(
    category: Category,
    *,
    call: Tracking = UNSAID,
    version: Tracking = UNSAID,
    tenant: Tracking = UNSAID,
    recipient: bool | None = None,
) -> int:
    """`OPENS` and `CLICKS`, as the first who has said something wants it: the call, the version of the template, the
    tenant; without a word, marketing is tracked and nothing else. A recipient's no stands above all."""
    if recipient is False:
        return 0
    said = call.or_else(version).or_else(tenant).or_else(_BY_CATEGORY.get(category, _NOTHING))
    return (OPENS if said.opens else 0) | (CLICKS if said.clicks else 0)


def client_of(headers: Mapping[str, str]) -> Client:
    """`headers` has lower-case names. A guess, and all that is kept of them."""
    ahead = headers.get("purpose", "") + headers.get("sec-purpose", "") + headers.get("x-moz", "")
    if ahead and ("prefetch" in ahead.lower() or "preview" in ahead.lower()):
        return Client.PREFETCH
    return _client_named(headers.get("user-agent", "")[:_LONGEST_AGENT])


@lru_cache(maxsize=5_000)
def _client_named(agent: str) -> Client:
    if not agent:
        return Client.UNKNOWN
    if agent == _APPLE_AHEAD or _PROXIES.search(agent):
        return Client.PROXY
    return Client.SCANNER if is_machine_agent(agent) else Client.BROWSER
