"""`/t/o/{token}.gif` and `/t/c/{token}`: what a mail program loads and what its reader follows.

Plain ASGI, in front of the router: these come more often than anything else. The event is in the database before the
answer goes out. Whatever a pixel's token is, the answer is the picture; whatever a link's is, nobody is ever sent
anywhere but to an address that was signed. HEAD is answered like GET and never noted.
"""

from typing import Final

from litestar.types import ASGIApp, HTTPScope, Receive, Send
from litestar.types import Scope as AsgiScope

from waypost.api.client_address import Origin
from waypost.api.hosted.pace import Pace
from waypost.api.hosted.pages import Pages
from waypost.api.hosted.words import language_of
from waypost.api.http_errors import MethodNotAllowed
from waypost.api.problem import answer_of
from waypost.api.request_log import log_unexpected, send_problem
from waypost.api.request_record import record_of
from waypost.bootstrap import App
from waypost.kernel.errors import RateLimited, WaypostError
from waypost.tracking.visits import NoWay

_PIXELS: Final = "/t/o/"
_LINKS: Final = "/t/c/"
_SUFFIX: Final = ".gif"
_GIF: Final = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00"
    b"\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-robots-tag", b"noindex, nofollow"),
)
_OF_PIXEL: Final = [
    (b"content-type", b"image/gif"),
    (b"content-length", str(len(_GIF)).encode()),
    # Web mail shows it inside of pages of its own.
    (b"cross-origin-resource-policy", b"cross-origin"),
    *_HEADERS,
]
_STATUS: Final = {NoWay.INVALID: 404, NoWay.GONE: 410}
_READ: Final = frozenset({b"user-agent", b"purpose", b"sec-purpose", b"x-moz", b"accept-language"})


class TrackingDoor:
    def __init__(self, inner: ASGIApp, app: App, origin: Origin) -> None:
        self._inner = inner
        self._visits = app.visits
        self._origin = origin
        self._pages = Pages()
        self._bad_tries = Pace(app.clock, times=60, seconds=60)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith((_PIXELS, _LINKS)):
            await self._inner(scope, receive, send)
            return
        is_pixel = scope["path"].startswith(_PIXELS)
        scope["path_template"] = "/t/o/{token}.gif" if is_pixel else "/t/c/{token}"  # pyright: ignore[reportGeneralTypeIssues] — read by the log
        if scope["method"] not in ("GET", "HEAD"):
            record = record_of(scope)
            await send_problem(answer_of(MethodNotAllowed("GET, HEAD"), record.request_id), record, send)
        elif is_pixel:
            await self._show(scope, send)
        else:
            await self._lead(scope, receive, send)

    async def _show(self, scope: HTTPScope, send: Send) -> None:
        if scope["method"] == "GET":
            try:
                await self._visits.opened(scope["path"][len(_PIXELS) :].removesuffix(_SUFFIX), _headers(scope))
            except Exception as error:
                log_unexpected(error, record_of(scope))
        await send({"type": "http.response.start", "status": 200, "headers": _OF_PIXEL})
        body = _GIF if scope["method"] == "GET" else b""
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _lead(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        headers, text = _headers(scope), scope["path"][len(_LINKS) :]
        try:
            way = await self._visits.clicked(text, headers, notes=scope["method"] == "GET")
        except Exception as error:
            log_unexpected(error, record_of(scope))
            status = error.status if isinstance(error, WaypostError) and error.status >= 500 else 500
            await self._notice("broken", status, scope, receive, send)
            return
        if isinstance(way, NoWay):
            record_of(scope).code = "not_found"
            await self._refuse(way, scope, receive, send)
            return
        lines = [(b"location", way.encode("ascii")), (b"content-length", b"0"), *_HEADERS]
        await send({"type": "http.response.start", "status": 302, "headers": lines})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _refuse(self, way: NoWay, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Who guesses links is slowed down, by address."""
        word, status = way.value, _STATUS[way]
        if way is NoWay.INVALID:
            try:
                self._bad_tries.step(self._origin.of(scope))
            except RateLimited:
                word, status = "busy", 429
        await self._notice(word, status, scope, receive, send)

    async def _notice(self, word: str, status: int, scope: HTTPScope, receive: Receive, send: Send) -> None:
        page = self._pages.notice(word, language_of(None, _headers(scope).get("accept-language")), status=status)
        if status == 429:
            page.headers["retry-after"] = "60"
        page.is_head_response = scope["method"] == "HEAD"
        await page(scope, receive, send)


def _headers(scope: HTTPScope) -> dict[str, str]:
    return {name.decode("ascii"): value.decode("latin-1") for name, value in scope["headers"] if name in _READ}
