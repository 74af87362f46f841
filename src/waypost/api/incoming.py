"""A request as endpoints read it: straight from what the server told, whichever way it came here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from litestar.types import HTTPReceiveMessage, HTTPScope, Receive

from waypost.kernel.errors import MalformedRequest

_NO_PARAMETERS: Final[Mapping[str, str]] = {}


class HeaderLines:
    """Of a request's head, by name in lower case."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Iterable[tuple[bytes, bytes]]) -> None:
        self._lines = lines

    def get(self, name: str) -> str | None:
        """The first of this name."""
        wanted = name.encode()
        for given, value in self._lines:
            if given == wanted:
                return value.decode("latin-1")
        return None

    def every(self, name: str) -> Sequence[str]:
        wanted = name.encode()
        return [value.decode("latin-1") for given, value in self._lines if given == wanted]


class Incoming:
    __slots__ = ("_receive", "headers", "method", "path", "query_string", "raw_path")

    def __init__(self, scope: HTTPScope, receive: Receive, path: Mapping[str, str] = _NO_PARAMETERS) -> None:
        self.method = scope["method"]
        self.raw_path: bytes = scope["raw_path"]
        self.query_string: bytes = scope["query_string"]
        self.headers = HeaderLines(scope["headers"])
        self.path = path
        """What stands in the path where the endpoint has a `{name}`."""
        self._receive = receive

    async def piece(self) -> tuple[bytes, bool]:
        """The next piece of the body, and whether more follow."""
        message: HTTPReceiveMessage = await self._receive()  # pyright: ignore[reportAssignmentType] - http only
        if message["type"] != "http.request":
            raise MalformedRequest("The body broke off.", code="incomplete_body")
        return message["body"], message["more_body"]

    async def body(self) -> bytes:
        first, more = await self.piece()
        if not more:
            return first
        pieces = [first]
        while more:
            piece, more = await self.piece()
            pieces.append(piece)
        return b"".join(pieces)
