"""Is it a person who opens a link, or a machine that looks at every link in a mail?

A guess, so it only ever leads to one question more: whoever is taken for a machine gets a page with a button.
"""

import re
from collections.abc import Mapping
from typing import Final

_MACHINES: Final = re.compile(
    r"bot\b|crawl|spider|scan|preview|fetch|monitor|check|headless|phantom|curl/|wget/|python|java/|okhttp|go-http|libwww|"
    r"httpclient|axios|node|perl|ruby|php|proofpoint|mimecast|barracuda|trendmicro|symantec|fireeye|sophos|safelinks|"
    r"messagelabs|zscaler|facebookexternalhit|slack|whatsapp|telegram|skype|discord",
    re.IGNORECASE,
)


def is_machine(headers: Mapping[str, str]) -> bool:
    """`headers` has lower-case names."""
    if is_machine_agent(headers.get("user-agent", "")):
        return True
    if "prefetch" in (headers.get("purpose", "") + headers.get("sec-purpose", "") + headers.get("x-moz", "")):
        return True
    if "text/html" not in headers.get("accept", ""):
        return True
    # A browser that says how it fetches says that a person navigates.
    if (
        headers.get("sec-fetch-mode", "navigate") != "navigate"
        or headers.get("sec-fetch-dest", "document") != "document"
    ):
        return True
    return "accept-language" not in headers


def is_machine_agent(agent: str) -> bool:
    return not agent.startswith("Mozilla/") or _MACHINES.search(agent) is not None
