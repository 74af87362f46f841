"""What probes and tools may ask without a key: whether it lives, whether it can serve, what it offers."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from litestar import Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp

from waypost.api.cross_origin import preflight
from waypost.api.endpoint import Endpoint
from waypost.api.openapi import document
from waypost.api.outgoing import problem_answer
from waypost.api.problem import answer_of
from waypost.api.request_record import record_of
from waypost.bootstrap import App
from waypost.kernel.errors import Unavailable, WaypostError

_ALIVE: Final = b'{"status":"ok"}'


def public_handlers(app: App, endpoints: Sequence[Endpoint]) -> list[HTTPRouteHandler]:
    @cache
    def described() -> bytes:
        """Made when somebody asks: most processes are never asked, and making it takes them time and memory."""
        return document(endpoints)

    async def healthz() -> ASGIResponse:
        return ASGIResponse(body=_ALIVE, media_type="application/json")

    async def readyz(request: Request[None, None, State]) -> ASGIApp:
        record = record_of(request.scope)
        try:
            await app.readiness.check()
        except WaypostError:
            refusal = Unavailable("The database cannot be reached, or its schema does not fit.", code="not_ready")
            return problem_answer(answer_of(refusal, record.request_id), record)
        return ASGIResponse(body=_ALIVE, media_type="application/json")

    async def openapi() -> ASGIResponse:
        return ASGIResponse(body=described(), media_type="application/json")

    return [
        HTTPRouteHandler("/healthz", http_method="GET", name="healthz")(healthz),
        HTTPRouteHandler("/readyz", http_method="GET", name="readyz")(readyz),
        HTTPRouteHandler("/openapi.json", http_method="GET", name="openapi")(openapi),
    ]


def options_handlers(endpoints: Sequence[Endpoint]) -> list[HTTPRouteHandler]:
    """Litestar's own would name only the method that was registered first."""
    methods: dict[str, list[str]] = {}
    for endpoint in endpoints:
        methods.setdefault(endpoint.path, []).extend(
            ("GET", "HEAD") if endpoint.method == "GET" else (endpoint.method,)
        )
    shared = {endpoint.path for endpoint in endpoints if endpoint.caller != "key"}
    return [
        _options_handler(path, ", ".join(sorted(allowed)), is_shared=path in shared)
        for path, allowed in methods.items()
    ]


def _options_handler(path: str, allowed: str, *, is_shared: bool) -> HTTPRouteHandler:
    async def options(request: Request[None, None, State]) -> ASGIResponse:
        shared = preflight(request.headers.get("origin"), allowed) if is_shared else {}
        return ASGIResponse(status_code=204, headers={"allow": f"OPTIONS, {allowed}", **shared})

    return HTTPRouteHandler(path.replace("}", ":str}"), http_method="OPTIONS", status_code=200)(options)
