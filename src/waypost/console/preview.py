"""Someone's message, shown so that it can do nothing: no request leaves the page, and no link leads anywhere.

The policy stops whatever loads, runs, submits or refreshes by itself. What it does not stop is a click, and browsers
that connect ahead: Chromium opens a connection for a frame that the policy then forbids. So the attributes that name a
target are renamed, all but pictures that are part of the message. That is done on the text, not on a tree, because
untrusted HTML is parsed nowhere in this process; an attribute's name cannot be spelled in any other way.
"""

import re
from typing import Final

from waypost.console.visit import Document
from waypost.templates.ports import RenderedParts

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
    r"(?:href|formaction|action|ping|http-equiv|srcdoc|srcset|poster|background|attributename|\bdata)(?=[\s/\x00]*=)"
    r"|src(?=[\s/\x00]*=(?![\s\"']*data:image/))",
    re.IGNORECASE,
)
_HEAD: Final = (
    "<!doctype html><meta charset=utf-8><title>Preview</title><style>:root{color-scheme:light;background:#fff}</style>"
)


def inert_html(html: str) -> bytes:
    return (_HEAD + _TARGETS.sub(r"data-inert-\g<0>", html)).encode("utf-8", "replace")


def document_of(parts: RenderedParts) -> Document:
    """What somebody would get, or its text where it has no HTML."""
    if parts.html is None:
        return Document(body=(parts.json or parts.text).encode(), media_type="text/plain; charset=utf-8")
    return Document(body=inert_html(parts.html))
