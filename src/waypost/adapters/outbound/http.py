"""HTTP through the guard: one POST, no redirects, no proxies, no decompression, an answer of at most 64 KB.

httpcore is used bare: it reads no environment and follows nothing. It is imported with the first call, because most
processes never make one.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from waypost.adapters.outbound.guard import Guard, OutboundRefused, Refusal
from waypost.kernel.clock import Clock
from waypost.outbox.webhook_model import Answer, CallFault

if TYPE_CHECKING:
    import httpcore

MOST_ANSWERED: Final = 64 * 1024
_CONNECTIONS: Final = 300
_KEPT_OPEN: Final = 40
_KEPT_SECONDS: Final = 20.0
_CONNECT_SECONDS: Final = 10.0
_FAULTS: Final = {Refusal.PRIVATE: CallFault.PRIVATE_ADDRESS, Refusal.UNRESOLVABLE: CallFault.UNRESOLVABLE}


class GuardedHttp:
    """Implements `outbox.ports.Caller`."""

    def __init__(self, guard: Guard, clock: Clock, *, timeout: float = 15.0, tls: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._clock = clock
        self._timeout = timeout
        self._tls = tls
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Whatever goes wrong is told in the answer."""
        began = self._clock.monotonic()
        status: int | None = None
        fault: CallFault | None = None
        retry_after: str | None = None
        said = b""
        sent = _Sent()
        try:
            # A real clock: what is bounded is the patience with a peer, which no simulated time can shorten.
            async with asyncio.timeout(self._timeout):
                status, retry_after, said = await self._exchange(url, headers, body, sent)
        except TimeoutError:
            fault = CallFault.TIMEOUT
        except Exception as error:
            fault = _fault_of(error)
        latency = round((self._clock.monotonic() - began) * 1000)
        return Answer(
            status=status, fault=fault, retry_after=retry_after, body=said, latency_ms=latency, sent=sent.begun
        )

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()
            self._pool = None

    async def _exchange(
        self, url: str, headers: Mapping[str, str], body: bytes, watch: "_Sent"
    ) -> tuple[int, str | None, bytes]:
        said = bytearray()
        every = {"timeout": dict.fromkeys(("connect", "pool"), _CONNECT_SECONDS), "trace": watch.trace}
        sent = {"Accept-Encoding": "identity", "Content-Length": str(len(body)), **headers}
        pairs = [(name.encode(), value.encode()) for name, value in sent.items()]
        async with self._open_pool().stream("POST", url, headers=pairs, content=body, extensions=every) as response:
            retry_after = next(
                (value.decode("latin-1") for name, value in response.headers if name.lower() == b"retry-after"), None
            )
            async for chunk in response.aiter_stream():
                said += chunk
                if len(said) >= MOST_ANSWERED:
                    break
        return response.status, retry_after, bytes(said[:MOST_ANSWERED])

    def _open_pool(self) -> "httpcore.AsyncConnectionPool":
        if self._pool is None:
            import httpcore

            from waypost.adapters.outbound.http_backend import GuardedBackend

            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=self._tls,
                max_connections=_CONNECTIONS,
                max_keepalive_connections=_KEPT_OPEN,
                keepalive_expiry=_KEPT_SECONDS,
                http1=True,
                http2=False,
                network_backend=GuardedBackend(self._guard),
            )
        return self._pool


class _Sent:
    """Follows one call: whether its body has begun to go."""

    __slots__ = ("begun",)

    def __init__(self) -> None:
        self.begun = False

    async def trace(self, event: str, _: object) -> None:
        if event == "http11.send_request_body.started":
            self.begun = True


def _fault_of(error: Exception) -> CallFault:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OutboundRefused):
            return _FAULTS[cause.refusal]
        if isinstance(cause, ssl.SSLError):
            return CallFault.TLS
        cause = cause.__cause__ or cause.__context__
    kinds: dict[str, Any] = {
        "ConnectTimeout": CallFault.TIMEOUT,
        "ReadTimeout": CallFault.TIMEOUT,
        "WriteTimeout": CallFault.TIMEOUT,
        "PoolTimeout": CallFault.TIMEOUT,
        "ConnectError": CallFault.UNREACHABLE,
    }
    return kinds.get(type(error).__name__, CallFault.BROKEN)
