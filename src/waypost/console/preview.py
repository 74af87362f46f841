"""Someone's message, shown so that it can do nothing: no request leaves the page, and no link leads anywhere.

The policy stops whatever loads, runs, submits or refreshes by itself. What is left is what a click, or a hint to
connect ahead, would do: the attributes that name a target are renamed. That is done on the text, not on a tree, because
untrusted HTML is parsed nowhere in this process; an attribute's name cannot be spelled in any other way.
"""

import re
from typing import Final

POLICY: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-dns-prefetch-control": "off",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_TARGETS: Final = re.compile(
    r"(href|formaction|action|ping|http-equiv|srcdoc|attributename)(?=[\s/\x00]*=)", re.IGNORECASE
)
_HEAD: Final = (
    "<!doctype html><meta charset=utf-8><title>Preview</title><style>:root{color-scheme:light;background:#fff}</style>"
)


def inert_html(html: str) -> bytes:
    return (_HEAD + _TARGETS.sub(r"data-inert-\1", html)).encode("utf-8", "replace")
