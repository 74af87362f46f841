"""From what happened to a page: escaped, in the reader's language, under a policy that lets it do nothing but show."""

import hashlib
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from minijinja import Environment, safe

from waypost.api.hosted.words import WORDS, direction_of

_FOLDER: Final = Path(__file__).parent
_STYLE: Final = (_FOLDER / "page.css").read_bytes()
STYLE_PATH: Final = f"/pages/hosted.{hashlib.sha256(_STYLE).hexdigest()[:12]}.css"
_PLACES: Final = re.compile(r"\{(\w+)\}")
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
    "cross-origin-opener-policy": "same-origin",
}


class Pages:
    def __init__(self) -> None:
        self._environment = Environment(
            templates={path.name: path.read_text() for path in sorted((_FOLDER / "templates").glob("*.html"))},
            auto_escape_callback=lambda _name: "html",
            undefined_behavior="strict",
            trim_blocks=True,
            lstrip_blocks=True,
            debug=False,
            filters={"fill": _fill},
            globals={"style": STYLE_PATH},
        )

    def show(self, template: str, language: str, shown: Mapping[str, object], *, status: int = 200) -> ASGIResponse:
        around = {"language": language, "direction": direction_of(language), "words": dict(WORDS[language])}
        body = self._environment.render_template(template, **around, **shown)
        return ASGIResponse(body=body.encode(), status_code=status, media_type="text/html", headers=HEADERS)

    def notice(self, word: str, language: str, *, status: int) -> ASGIResponse:
        """A page that only says something: `invalid`, `stale`, `busy`, `broken`."""
        return self.show("notice.html", language, {"word": word}, status=status)


def style_handler() -> HTTPRouteHandler:
    async def hosted_style() -> ASGIResponse:
        kept = {"cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff"}
        return ASGIResponse(body=_STYLE, media_type="text/css", headers=kept)

    return HTTPRouteHandler(STYLE_PATH, http_method="GET", name="hosted_style")(hosted_style)


def _fill(text: str, **values: str) -> object:
    """Each value in its own direction, so that an address reads right in Arabic too."""

    def put(found: re.Match[str]) -> str:
        return f"<bdi>{html.escape(values.get(found[1], ''))}</bdi>"

    return safe(_PLACES.sub(put, html.escape(text, quote=False)))
