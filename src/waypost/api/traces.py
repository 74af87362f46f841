"""A span around every request, as the caller's trace goes on, where tracing is configured."""

from typing import cast

from litestar.types import ASGIApp, Message, Receive, Send
from litestar.types import Scope as AsgiScope
from opentelemetry import propagate
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer


class Traced:
    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status = 0

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._tracer.start_as_current_span(
            scope["method"], context=propagate.extract(carried), kind=SpanKind.SERVER, record_exception=False
        ) as span:
            await self._app(scope, receive, note_status)
            # The template, never the path: paths hold people's ids.
            route = cast("dict[str, str]", scope).get("path_template")
            if route is not None:
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.route", route)
            span.set_attribute("http.request.method", scope["method"])
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))
