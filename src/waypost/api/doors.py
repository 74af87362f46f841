"""The ways to an endpoint: by the router, or past it where the path says all."""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from litestar import Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, HTTPScope, Receive, Send
from litestar.types import Scope as AsgiScope

from waypost.api.dispatch import answered
from waypost.api.endpoint import Endpoint
from waypost.api.incoming import Incoming
from waypost.api.outgoing import Answer
from waypost.api.request_record import record_of
from waypost.bootstrap import App

_HOST: Final = b"host"
_PLAIN_HOST: Final = re.compile(rb"[A-Za-z0-9.:\[\]-]+\Z")
_ENCODED_SLASH: Final = re.compile(rb"%2f", re.IGNORECASE)
# A slash within a segment, as long as the router looks at it. No bytes are ever decoded to this lone surrogate.
_INNER_SLASH: Final = "\udc2f"


def handler_of(endpoint: Endpoint, app: App) -> HTTPRouteHandler:
    async def handle(request: Request[None, None, State]) -> Answer:
        incoming = Incoming(request.scope, request.receive, _with_slashes(request.path_params))
        return await answered(endpoint, app, incoming, record_of(request.scope))

    handle.__name__ = endpoint.name
    return HTTPRouteHandler(
        endpoint.path.replace("}", ":str}"),
        http_method=endpoint.method,
        name=endpoint.name,
        # The real status is in the answer; Litestar refuses 204 beside anything that could have a body.
        status_code=200,
        opt={"endpoint": endpoint},
    )(handle)


class StraightDoor:
    """In front of the router: a request that names one of our paths to the letter needs none of it. What is odd in any
    way goes on to the router, which knows the same endpoints."""

    def __init__(self, router: ASGIApp, app: App, endpoints: Sequence[Endpoint]) -> None:
        self._router = router
        self._app = app
        self._endpoints = {(one.method, one.path): one for one in endpoints if "{" not in one.path}

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        if (endpoint := self._meant_by(scope)) is None:
            _keep_segments_whole(scope)
            await self._router(scope, receive, send)
            return
        scope["path_template"] = endpoint.path  # pyright: ignore[reportGeneralTypeIssues] — read by the log
        answer = await answered(endpoint, self._app, Incoming(scope, receive), record_of(scope))
        await answer(scope, receive, send)

    def _meant_by(self, scope: HTTPScope) -> Endpoint | None:
        endpoint = self._endpoints.get((scope["method"], scope["path"]))  # pyright: ignore[reportArgumentType] — any word
        if endpoint is None:
            return None
        hosts = [value for name, value in scope["headers"] if name == _HOST]
        return endpoint if all(_PLAIN_HOST.match(host) for host in hosts) else None


def _keep_segments_whole(scope: HTTPScope) -> None:
    """Servers decode a path before it is divided, so that `%2F` would divide it too: a tag may hold a slash."""
    raw = scope["raw_path"]
    if b"%" not in raw or not scope["path"].startswith("/v1/") or not _ENCODED_SLASH.search(raw):
        return
    segments = raw.partition(b"?")[0].split(b"/")
    try:
        whole = [unquote_to_bytes(segment).decode().replace("/", _INNER_SLASH) for segment in segments]
    except UnicodeDecodeError:
        return
    scope["path"] = "/".join(whole)


def _with_slashes(parameters: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value.replace(_INNER_SLASH, "/") for name, value in parameters.items()}
