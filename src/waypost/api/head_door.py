"""HEAD asks what GET would answer, without the body. Load balancers and checks of links ask so.

Pages that act when they are opened, and tracked links, have a HEAD of their own.
"""

from typing import Final

from litestar.types import ASGIApp, Message, Receive, Send
from litestar.types import Scope as AsgiScope

_OURS: Final = ("/v1/", "/healthz", "/readyz", "/openapi.json")
_FILES: Final = ".js"


class HeadDoor:
    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or not _is_plain(scope["path"]):
            await self._inner(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message["body"] = b""
            await send(message)

        scope["method"] = "GET"
        try:
            await self._inner(scope, receive, send_head)
        finally:
            scope["method"] = "HEAD"


def _is_plain(path: str) -> bool:
    return path.startswith(_OURS) or path.endswith(_FILES)
