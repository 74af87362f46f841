"""The door in front of every route: Granian bounds neither bodies nor time, so this does.

A request comes in only while its address, its key and the process have room; its body must be small enough and arrive
whole in time; its handler must end in time. Who is turned away with an unread body also loses the connection, so slow
senders cannot hold one. `/healthz` always has room.
"""

import asyncio
from collections.abc import Set
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from litestar.types import ASGIApp, HTTPReceiveMessage, HTTPScope, Message, Receive, Send
from litestar.types import Scope as AsgiScope

from waypost.api.bulk_body import BULK_BYTES, BULKS_AT_ONCE
from waypost.api.client_address import Origin
from waypost.api.deadlines import Deadline, Deadlines
from waypost.api.http_errors import RequestTimeout, UnsupportedMediaType
from waypost.api.metrics import HttpMetrics
from waypost.api.problem import answer_of
from waypost.api.request_log import send_problem
from waypost.api.request_record import record_of
from waypost.api.upload_body import UPLOAD_BYTES
from waypost.kernel.errors import MalformedRequest, RateLimited, TooLarge, Unavailable, WaypostError

Who = TypeVar("Who")

ALWAYS_ROOM: Final = "/healthz"
_RETRY_SECONDS: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    body_bytes: int = 1_048_576
    body_seconds: float = 10.0
    """For the whole body, however it trickles."""
    handler_seconds: float = 30.0
    per_address: int = 64
    """Requests at a time from one IPv4 address or one IPv6 /64."""
    per_key: int = 64
    uploads: int = 2_048
    """Bodies being read at a time, over all addresses."""
    buffered_bytes: int = 134_217_728
    """Memory for bodies not handed on yet, over all addresses."""
    in_flight: int = 512
    """Requests being answered at a time."""
    bulk_bytes: int = BULK_BYTES
    bulk_seconds: float = 55.0
    """For the handler of many items: within what the database grants a transaction."""
    bulks: int = BULKS_AT_ONCE
    """Of those paths that take many items, requests being read or answered at a time."""
    file_bytes: int = UPLOAD_BYTES
    file_seconds: float = 900.0
    """For a whole file; its pieces must come within `body_seconds` of each other."""
    files: int = 8
    """Of those paths that take a file, requests at a time."""


class Limited:
    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        origin: Origin,
        metrics: HttpMetrics,
        bulk_paths: Set[str] = frozenset(),
        wide_paths: Set[str] = frozenset(),
        file_paths: Set[str] = frozenset(),
    ) -> None:
        self._app = app
        self._limits = limits
        self._reading = Deadlines(limits.body_seconds)
        self._answering = Deadlines(limits.handler_seconds)
        self._answering_bulks = Deadlines(limits.bulk_seconds)
        self._bulk_paths = bulk_paths
        self._wide_paths = wide_paths
        """Their bodies may be as large as a bulk's where they say so beforehand; then they count as one."""
        self._bulks = 0
        self._file_paths = file_paths
        self._files = 0
        self._origin = origin
        self._metrics = metrics
        self._address = _Places[str]()
        self._key = _Places[bytes]()
        self._uploads = 0
        self._buffered = 0
        self._in_flight = 0

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            request = _Head.of(scope)
        except WaypostError as refusal:
            await self._turn_away(refusal, scope, send)
            return
        if scope["path"] == ALWAYS_ROOM and not request.has_body:
            await self._app(scope, receive, send)
            return
        address = self._origin.of(scope)
        if request.has_body and scope["path"] in self._file_paths:
            await self._take_file(request, address, scope, receive, send)
            return
        is_bulk = scope["path"] in self._bulk_paths or self._is_wide(request, scope["path"])
        most = self._limits.bulk_bytes if is_bulk else self._limits.body_bytes
        try:
            self._check_head(request, most)
            self._check_room(address, request.key, is_bulk=is_bulk)
        except WaypostError as refusal:
            await self._turn_away(refusal, scope, send)
            return
        self._bulks += is_bulk
        self._address.take(address)
        self._key.take(request.key)
        try:
            await self._serve(request, most, scope, receive, send)
        finally:
            self._bulks -= is_bulk
            self._address.leave(address)
            self._key.leave(request.key)

    def _is_wide(self, request: "_Head", path: str) -> bool:
        return path in self._wide_paths and (request.length or 0) > self._limits.body_bytes

    async def _serve(self, request: "_Head", most: int, scope: HTTPScope, receive: Receive, send: Send) -> None:
        try:
            body = await self._read(receive, request.size, most) if request.has_body else b""
        except WaypostError as refusal:
            await self._turn_away(refusal, scope, send)
            return
        if self._in_flight >= self._limits.in_flight:
            await self._turn_away(Unavailable("The server is busy; try again.", code="overloaded"), scope, send)
            return
        self._in_flight += 1
        try:
            await self._answer(body, scope, receive, send)
        finally:
            self._in_flight -= 1

    async def _take_file(self, request: "_Head", address: str, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Handed on piece by piece: a file is bounded in size and time, and never held whole."""
        try:
            self._check_head(request, self._limits.file_bytes)
            self._check_room(address, request.key, is_bulk=False)
            if self._files >= self._limits.files:
                raise Unavailable("The server is reading too many files; try again.", code="overloaded")
        except WaypostError as refusal:
            await self._turn_away(refusal, scope, send)
            return
        incoming = _Incoming(receive, send, most=self._limits.file_bytes, seconds=self._limits.body_seconds)
        self._files += 1
        self._address.take(address)
        self._key.take(request.key)
        try:
            async with asyncio.timeout(self._limits.file_seconds):
                await self._app(scope, incoming.receive, incoming.send)
        except TimeoutError:
            if incoming.has_answered:
                raise
            refusal = RequestTimeout(f"The file did not arrive within {self._limits.file_seconds:g} s.")
            await self._turn_away(refusal, scope, send)
        finally:
            self._files -= 1
            self._address.leave(address)
            self._key.leave(request.key)

    def _check_head(self, request: "_Head", most: int) -> None:
        if request.encoding not in (b"", b"identity"):
            raise UnsupportedMediaType(
                "Send the body as it is, without a Content-Encoding.", code="unsupported_content_encoding"
            )
        if request.length is not None and request.length > most:
            raise _too_large(most)

    def _check_room(self, address: str, key: bytes, *, is_bulk: bool) -> None:
        if is_bulk and self._bulks >= self._limits.bulks:
            raise Unavailable("The server is working on too many bulks; try again.", code="overloaded")
        if self._address.taken(address) >= self._limits.per_address:
            raise RateLimited(
                f"At most {self._limits.per_address} requests at a time from one address.",
                retry_after=_RETRY_SECONDS,
                code="too_many_from_address",
            )
        if key and self._key.taken(key) >= self._limits.per_key:
            raise RateLimited(
                f"At most {self._limits.per_key} requests at a time with one key.",
                retry_after=_RETRY_SECONDS,
                code="too_many_with_key",
            )

    async def _read(self, receive: Receive, whole: int | None, most: int) -> bytes:
        if self._uploads >= self._limits.uploads:
            raise Unavailable("The server is reading too many bodies; try again.", code="overloaded")
        chunks: list[bytes] = []
        size = 0
        self._uploads += 1
        try:
            with Deadline(self._reading):
                while True:
                    message: HTTPReceiveMessage = await receive()  # pyright: ignore[reportAssignmentType] - http only
                    if message["type"] == "http.disconnect":
                        # Gone, or its chunks make no sense: the server tells both the same way.
                        raise MalformedRequest("The body broke off.", code="incomplete_body")
                    chunk = message["body"]
                    size += len(chunk)
                    self._buffered += len(chunk)
                    chunks.append(chunk)
                    if size > most:
                        raise _too_large(most)
                    if self._buffered > self._limits.buffered_bytes:
                        raise Unavailable("The server is reading too much at a time; try again.", code="overloaded")
                    # The server says that more follows until it was asked in vain: one more way through its threads.
                    if size == whole or not message.get("more_body", False):
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except TimeoutError:
            raise RequestTimeout(f"The body did not arrive within {self._limits.body_seconds:g} s.") from None
        finally:
            self._uploads -= 1
            self._buffered -= size

    async def _answer(self, body: bytes, scope: HTTPScope, receive: Receive, send: Send) -> None:
        given = False
        started = False
        is_bulk = scope["path"] in self._bulk_paths
        deadline = Deadline(self._answering_bulks if is_bulk else self._answering)

        async def receive_whole() -> HTTPReceiveMessage:
            nonlocal given
            if given:
                return await receive()  # pyright: ignore[reportReturnType] - http only
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send_noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)
            if message["type"] == "http.response.body" and message.get("more_body", False):
                # A file goes on as long as its reader does.
                deadline.extend()

        try:
            with deadline:
                await self._app(scope, receive_whole, send_noting)
        except TimeoutError:
            if not deadline.expired or started:
                raise
            refusal = Unavailable(
                "This took too long and was stopped. Try again, with the same Idempotency-Key.",
                code="deadline_exceeded",
            )
            await self._turn_away(refusal, scope, send)

    async def _turn_away(self, refusal: WaypostError, scope: HTTPScope, send: Send) -> None:
        self._metrics.refused.labels(refusal.code).inc()
        record = record_of(scope)
        await send_problem(answer_of(refusal, record.request_id), record, send, close=True)


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The body may have at most {most} bytes.", code="body_too_large")


class _Incoming:
    """A body on its way through. Who is refused before it is read to the end also loses the connection."""

    def __init__(self, receive: Receive, send: Send, *, most: int, seconds: float) -> None:
        self._receive = receive
        self._send = send
        self._left = most
        self._most = most
        self._seconds = seconds
        self._is_read = False
        self.has_answered = False

    async def receive(self) -> HTTPReceiveMessage:
        try:
            async with asyncio.timeout(self._seconds):
                message: HTTPReceiveMessage = await self._receive()  # pyright: ignore[reportAssignmentType] - http only
        except TimeoutError:
            raise RequestTimeout(f"Nothing of the body came for {self._seconds:g} s.") from None
        if message["type"] == "http.request":
            self._left -= len(message["body"])
            self._is_read = not message.get("more_body", False)
            if self._left < 0:
                raise _too_large(self._most)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_answered = True
            if not self._is_read:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
        await self._send(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Head:
    """What the headers say about the body and the caller. The key is only compared, never kept longer than the call."""

    has_body: bool
    length: int | None
    size: int | None
    """How much of a body will come, where nothing else but its length says so."""
    encoding: bytes
    key: bytes

    @classmethod
    def of(cls, scope: HTTPScope) -> "_Head":
        length: int | None = None
        chunked = False
        encoding = key = b""
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = _length_of(value)
            elif name == b"transfer-encoding":
                chunked = True
            elif name == b"content-encoding":
                encoding = value.strip().lower() if not encoding else b"several"
            elif name == b"authorization":
                key = value
        size = None if chunked else length
        return cls(has_body=chunked or bool(length), length=length, size=size, encoding=encoding, key=key)


def _length_of(value: bytes) -> int:
    # The server has refused what is not a number already; a test client may not have.
    if not value.isdigit():
        raise MalformedRequest("Content-Length is not a number.", code="invalid_content_length")
    return int(value)


class _Places(Generic[Who]):
    """How many places each caller has taken; those without any are forgotten."""

    def __init__(self) -> None:
        self._taken: dict[Who, int] = {}

    def taken(self, who: Who) -> int:
        return self._taken.get(who, 0)

    def take(self, who: Who) -> None:
        """Whoever takes one leaves it."""
        self._taken[who] = self.taken(who) + 1

    def leave(self, who: Who) -> None:
        if self._taken[who] == 1:
            del self._taken[who]
        else:
            self._taken[who] -= 1
