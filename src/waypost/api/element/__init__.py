"""The inbox for other people's pages: a custom element and the client beneath it, served as they are written."""

import gzip
import hashlib
from pathlib import Path
from typing import Final

from litestar import Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

_FOLDER: Final = Path(__file__).parent
_TYPE: Final = "text/javascript"
# Pages name these files without a version, so browsers ask again after a while; the tag makes that cheap.
_KEPT: Final = "public, max-age=300, stale-while-revalidate=86400"


def element_handlers() -> list[HTTPRouteHandler]:
    return [_handler(path) for path in sorted(_FOLDER.glob("*.js"))]


def _handler(path: Path) -> HTTPRouteHandler:
    plain = path.read_bytes()
    packed = gzip.compress(plain, mtime=0)
    tag = f'"{hashlib.sha256(plain).hexdigest()[:20]}"'
    headers = {
        # Public by nature: any page may load it, and may let its hash be checked.
        "access-control-allow-origin": "*",
        "cross-origin-resource-policy": "cross-origin",
        "cache-control": _KEPT,
        "etag": tag,
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
    }

    async def serve(request: Request[None, None, State]) -> ASGIResponse:
        if request.headers.get("if-none-match") == tag:
            return ASGIResponse(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return ASGIResponse(body=packed, headers={**headers, "content-encoding": "gzip"}, media_type=_TYPE)
        return ASGIResponse(body=plain, headers=headers, media_type=_TYPE)

    return HTTPRouteHandler(f"/{path.name}", http_method="GET", name=path.name)(serve)
