"""The application of the streams' own listener: server-sent events and WebSocket, and nothing else.

A token comes in the header, or in the first message of a WebSocket; never in an address, where logs would keep it.
"""

import asyncio
import re
from collections import Counter
from contextlib import suppress
from typing import Any, Final

import msgspec
import structlog
from litestar.types import HTTPScope, Receive, Send, WebSocketScope
from litestar.types import Scope as AsgiScope

from waypost.api.client_address import Origin
from waypost.api.live.hub import Hub, Subscription
from waypost.api.live.metrics import LiveMetrics
from waypost.api.live.pump import Pump, enter
from waypost.api.live.wire import Frame, sse, websocket_text
from waypost.api.problem import answer_of, internal_answer
from waypost.bootstrap import App
from waypost.inbox.changes import Cursor, read_cursor
from waypost.kernel import ids
from waypost.kernel.errors import NotFound, RateLimited, Unauthenticated, Unavailable, WaypostError

_log: Final = structlog.stdlib.get_logger("waypost.api.live")
_PATH: Final = re.compile(r"/v1/me/inboxes/(?P<inbox>[a-z0-9][a-z0-9._-]{0,63})/stream\Z")
_BEARER: Final = re.compile(rb"[Bb]earer +([\x21-\x7e]{1,512})\Z")
_RETRY_SECONDS: Final = 5
_HELLO_SECONDS: Final = 10.0
_LONGEST_HELLO: Final = 2_048
_HEARTBEAT: Final = b": still here\n\n"
_TEXT_HEARTBEAT: Final = '{"event":"heartbeat","data":{}}'
_GONE: Final = (ConnectionError, RuntimeError, TimeoutError, asyncio.CancelledError)
# WebSocket: 1008 says that a rule was broken, 1013 to come back later.
_REFUSED: Final = 4400
_LATER: Final = 1013


class Hello(msgspec.Struct, forbid_unknown_fields=True):
    """The first message on a WebSocket."""

    token: str
    last_event_id: str | None = None


class LiveApp:
    def __init__(self, app: App, *, origin: Origin, metrics: LiveMetrics) -> None:
        self._app = app
        self._origin = origin
        self._metrics = metrics
        self._hub = Hub(app)
        self._taken = Counter[str]()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    async def close(self) -> None:
        await self._hub.close()

    async def _http(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        shared = _shared(headers.get(b"origin"))
        if scope["path"] == "/healthz":
            await _answer(send, 200, [(b"content-type", b"application/json")], b'{"status":"ok"}')
            return
        if scope["method"] == "OPTIONS":
            await _answer(send, 204, [*shared, *_PREFLIGHT], b"")
            return
        started = False

        async def begin() -> None:
            nonlocal started
            started = True
            await send({"type": "http.response.start", "status": 200, "headers": [*shared, *_STREAM_HEADERS]})
            await send({"type": "http.response.body", "body": b"retry: 2000\n\n", "more_body": True})

        async def write(body: bytes) -> None:
            await send({"type": "http.response.body", "body": body, "more_body": True})

        async def send_frame(frame: Frame) -> None:
            self._metrics.events.labels(frame.kind).inc()
            await write(sse(frame))

        try:
            inbox_key = _inbox_of(scope)
            since = read_cursor(_text(headers.get(b"last-event-id")))
            with self._room_for(scope):
                visitor, position = await enter(self._app, _bearer(headers), _text(headers.get(b"origin")), inbox_key)
                await begin()
                stream = Subscription(visitor=visitor, token=_bearer(headers), inbox_key=inbox_key, position=position)
                pump = Pump(self._app, self._hub, stream, send=send_frame, beat=lambda: write(_HEARTBEAT))
                await self._follow(stream, pump, since, _until_gone(receive), "sse")
                with suppress(*_GONE):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        except WaypostError as refusal:
            if not started:
                answer = answer_of(refusal, ids.show("rid", ids.mint(self._app.clock)))
                problem = [(name.encode(), value.encode()) for name, value in answer.headers]
                await _answer(send, answer.status, [*shared, *problem], answer.body)
        except _GONE:
            return
        except Exception as unexpected:
            _log.error("stream failed", action="stream_failed", kind=type(unexpected).__name__)
            if not started:
                await _answer(send, 500, shared, internal_answer(ids.show("rid", ids.mint(self._app.clock))).body)

    async def _websocket(self, scope: WebSocketScope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)

        async def text(content: str) -> None:
            await send({"type": "websocket.send", "text": content, "bytes": None})

        async def send_frame(frame: Frame) -> None:
            self._metrics.events.labels(frame.kind).inc()
            await text(websocket_text(frame))

        try:
            await receive()
            inbox_key = _inbox_of(scope)
            with self._room_for(scope):
                await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
                async with asyncio.timeout(_HELLO_SECONDS):
                    hello = _hello(await receive())
                since = read_cursor(hello.last_event_id)
                visitor, position = await enter(self._app, hello.token, _text(headers.get(b"origin")), inbox_key)
                stream = Subscription(visitor=visitor, token=hello.token, inbox_key=inbox_key, position=position)
                pump = Pump(self._app, self._hub, stream, send=send_frame, beat=lambda: text(_TEXT_HEARTBEAT))
                await self._follow(stream, pump, since, _until_gone(receive), "websocket")
                with suppress(*_GONE):
                    await send({"type": "websocket.close", "code": 1000, "reason": "token_over"})
        except WaypostError as refusal:
            code = _LATER if isinstance(refusal, RateLimited | Unavailable) else _REFUSED
            with suppress(*_GONE):
                await send({"type": "websocket.close", "code": code, "reason": refusal.code})
        except _GONE:
            return

    async def _follow(self, stream: Subscription, pump: Pump, since: Cursor | None, gone: Any, kind: str) -> None:
        """Pumps until the stream is over or whoever reads is gone, whichever comes first."""
        self._hub.join(stream)
        self._metrics.open.labels(kind).inc()
        tasks = {asyncio.ensure_future(pump.run(since)), asyncio.ensure_future(gone)}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._metrics.open.labels(kind).dec()
            self._hub.leave(stream)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _room_for(self, scope: HTTPScope | WebSocketScope) -> "_Place":
        settings = self._app.settings
        address = self._origin.of(scope)  # pyright: ignore[reportArgumentType] — client and headers are the same
        if self._taken.total() >= settings.streams:
            self._metrics.refused.labels("overloaded").inc()
            raise Unavailable("This process has no room for more streams; try again.", code="overloaded")
        if self._taken[address] >= settings.streams_per_address:
            self._metrics.refused.labels("too_many_from_address").inc()
            raise RateLimited(
                f"At most {settings.streams_per_address} streams from one address.",
                retry_after=_RETRY_SECONDS,
                code="too_many_from_address",
            )
        return _Place(self._taken, address)


class _Place:
    def __init__(self, taken: Counter[str], address: str) -> None:
        self._taken = taken
        self._address = address

    def __enter__(self) -> None:
        self._taken[self._address] += 1

    def __exit__(self, *_: object) -> None:
        self._taken[self._address] -= 1
        if not self._taken[self._address]:
            del self._taken[self._address]


def live_app(app: App, metrics: LiveMetrics) -> LiveApp:
    return LiveApp(app, origin=Origin(app.settings.trusted_proxies), metrics=metrics)


async def _until_gone(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] in ("http.disconnect", "websocket.disconnect"):
            return


def _hello(message: Any) -> Hello:
    content = message.get("text") or message.get("bytes") or b""
    if message["type"] != "websocket.receive" or len(content) > _LONGEST_HELLO:
        raise Unauthenticated("Send the token in the first message.", code="invalid_token")
    try:
        return msgspec.json.decode(content, type=Hello)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Unauthenticated("Send the token in the first message.", code="invalid_token") from None


def _inbox_of(scope: HTTPScope | WebSocketScope) -> str:
    found = _PATH.match(scope["path"])
    if found is None or (scope["type"] == "http" and scope["method"] != "GET"):
        raise NotFound("There is no such path.", code="no_such_path")
    return found["inbox"]


def _headers(scope: HTTPScope | WebSocketScope) -> dict[bytes, bytes]:
    return {name.lower(): value for name, value in scope["headers"]}


def _bearer(headers: dict[bytes, bytes]) -> str:
    found = _BEARER.match(headers.get(b"authorization", b""))
    if found is None:
        raise Unauthenticated("Send the token as `Authorization: Bearer wpr_…`.", code="missing_key")
    return found[1].decode()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


_STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_PREFLIGHT: Final = [
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"authorization, content-type, last-event-id"),
    (b"access-control-max-age", b"600"),
]


def _shared(origin: bytes | None) -> list[tuple[bytes, bytes]]:
    vary = (b"vary", b"origin")
    return [vary] if origin is None else [(b"access-control-allow-origin", origin), vary]


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    closing = [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *closing]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
