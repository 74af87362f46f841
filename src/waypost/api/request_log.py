"""The outermost layer: gives each request its id, answers what nobody caught, and writes one line about it.

The line names the route's template and never the path, the query, a body, an address or a key.
"""

import re
from typing import Final, cast

import structlog
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send
from litestar.types import Scope as AsgiScope

from waypost.api.metrics import HttpMetrics
from waypost.api.problem import ProblemAnswer, internal_answer
from waypost.api.request_record import RequestRecord, attach
from waypost.kernel import ids
from waypost.kernel.clock import Clock

REQUEST_ID_HEADER: Final = "Waypost-Request-Id"
_ID_LINE: Final = REQUEST_ID_HEADER.lower().encode()
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UNROUTED: Final = "unrouted"
_PROBES: Final = frozenset({"/healthz", "/readyz"})
_FOLDERS: Final = re.compile(r"/(?:site-packages|src|lib/python[0-9.]+)/")
_log: Final = structlog.stdlib.get_logger("waypost.api")


class RequestLog:
    def __init__(self, app: ASGIApp, *, clock: Clock, metrics: HttpMetrics) -> None:
        self._app = app
        self._clock = clock
        self._metrics = metrics

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._observe(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": "There are no websockets here."})
        else:
            await self._app(scope, receive, send)

    async def _observe(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        record = RequestRecord(request_id=ids.show("rid", ids.mint(self._clock)))
        attach(scope, record)
        status = 0
        id_header = (_ID_LINE, record.request_id.encode())

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], id_header]
            await send(message)

        began = self._clock.monotonic()
        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, send_with_id)
        except Exception as unexpected:
            log_unexpected(unexpected, record)
            if status == 0:
                await send_problem(internal_answer(record.request_id), record, send_with_id)
        finally:
            self._metrics.in_flight -= 1
            self._write_down(scope, record, status, self._clock.monotonic() - began)

    def _write_down(self, scope: HTTPScope, record: RequestRecord, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        route = cast("dict[str, str]", scope).get("path_template", _UNROUTED)
        self._metrics.answered(method, route, status, seconds)
        if record.code is not None:
            self._metrics.problems.labels(record.code).inc()
        # Probes come every second and say the same as long as all is well.
        write = _log.debug if route in _PROBES and status == 200 else _log.info
        write(
            "request",
            action="request",
            request_id=record.request_id,
            tenant=record.tenant,
            key=record.key_id,
            method=method,
            route=route,
            status=status,
            code=record.code,
            duration_ms=round(seconds * 1000, 2),
        )


def log_unexpected(unexpected: Exception, record: RequestRecord) -> None:
    """Where it broke and what kind it was; never its words, which may repeat someone's data."""
    _log.error(
        "request failed",
        action="request_failed",
        request_id=record.request_id,
        tenant=record.tenant,
        kind=f"{type(unexpected).__module__}.{type(unexpected).__qualname__}",
        where=_where(unexpected),
    )


async def send_problem(answer: ProblemAnswer, record: RequestRecord, send: Send, *, close: bool = False) -> None:
    """Answers without the router, for what never reached it. `close` also ends the connection with its unread body."""
    record.code = answer.code
    headers = [(name.encode(), value.encode()) for name, value in answer.headers]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _where(unexpected: Exception) -> list[str]:
    places: list[str] = []
    step = unexpected.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        places.append(f"{_FOLDERS.split(code.co_filename)[-1]}:{step.tb_lineno} {code.co_name}")
        step = step.tb_next
    return places[-12:]
