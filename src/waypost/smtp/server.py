"""Listens for callers, as many as there is room for, and serves each."""

import asyncio
import ssl
from collections import Counter
from contextlib import suppress
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final, cast

import structlog

from waypost.bootstrap import App
from waypost.kernel.errors import Misconfigured, Unavailable
from waypost.smtp.certificate import Certificate
from waypost.smtp.guesses import Guesses
from waypost.smtp.limits import Limits
from waypost.smtp.line import Line
from waypost.smtp.metrics import SmtpMetrics
from waypost.smtp.session import Session

_log: Final = structlog.stdlib.get_logger("waypost.smtp")
_BACKLOG: Final = 256
_NETWORK: Final = 64


class SmtpServer:
    """Implements `host.Host`."""

    def __init__(
        self, app: App, *, name: str, limits: Limits, metrics: SmtpMetrics, certificate: Certificate | None = None
    ) -> None:
        self.app = app
        self.name = name
        self.limits = limits
        self.metrics = metrics
        self.guesses = Guesses(app.clock)
        self._certificate = certificate
        self._servers: list[asyncio.Server] = []
        self._sessions: dict[asyncio.Task[None], Session | None] = {}
        self._callers: Counter[str] = Counter()
        self._held = 0
        self.is_closing = False

    async def start(self, host: str, port: int, *, secure: bool = False) -> int:
        """Answers on which port it listens. `secure`: TLS from the first byte."""
        context = self.certificate if secure else None
        if secure and context is None:
            raise Misconfigured("TLS from the first byte needs a certificate: set WAYPOST_SMTP_IN_CERTIFICATE.")
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: Line(self._take_up),
                host,
                port,
                ssl=context,
                backlog=_BACKLOG,
                ssl_handshake_timeout=self.limits.handshake_seconds if secure else None,
            )
        except OSError as error:
            raise Misconfigured(f"Nothing can listen on {host} port {port}: {error.strerror}.", code="port") from error
        self._servers.append(server)
        return server.sockets[0].getsockname()[1]

    async def close(self, grace_seconds: float) -> None:
        """Listens no more, lets those who are in the middle of something finish it, and hangs up on the rest."""
        self.is_closing = True
        for server in self._servers:
            server.close()
        everyone = dict(self._sessions)
        for task, session in everyone.items():
            if session is None or not session.is_busy:
                task.cancel()
        if everyone:
            _, late = await asyncio.wait(everyone, timeout=grace_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    @property
    def certificate(self) -> ssl.SSLContext | None:
        return self._certificate.context() if self._certificate is not None else None

    def hold(self, count: int) -> None:
        if self._held + count > self.limits.in_hand_bytes:
            raise Unavailable("The server is reading too much at a time; try again.", code="overloaded")
        self._held += count

    def let_go(self, count: int) -> None:
        self._held -= count

    def _take_up(self, line: Line) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(line))
        self._sessions[task] = None
        task.add_done_callback(self._sessions.pop)

    async def _serve(self, line: Line) -> None:
        address = _group(line.peer)
        refusal = self._no_room(address)
        if refusal is not None:
            self.metrics.refused.labels(refusal[0]).inc()
            line.say(refusal[1])
            line.hang_up()
            return
        self._callers[address] += 1
        self.metrics.sessions.inc()
        try:
            session = Session(self, line, address, is_local=_is_local(line.peer))
            self._sessions[cast("asyncio.Task[None]", asyncio.current_task())] = session
            await session.serve()
        except asyncio.CancelledError:
            line.say("421 4.3.2 The server is stopping")
            raise
        except Exception as unexpected:
            _log.error("session failed", action="smtp_session_failed", kind=type(unexpected).__name__)
            line.say("421 4.3.0 Something unexpected happened")
        finally:
            self.metrics.sessions.dec()
            self._callers[address] -= 1
            if not self._callers[address]:
                del self._callers[address]
            line.hang_up()

    def _no_room(self, address: str) -> tuple[str, str] | None:
        if self.is_closing:
            return "stopping", "421 4.3.2 The server is stopping"
        if self.guesses.shuts_out(address):
            return "shut_out", "421 4.7.0 Too many wrong keys from there; try again later"
        if self._callers.total() >= self.limits.sessions or self._callers[address] >= self.limits.per_address:
            return "too_many", "421 4.3.2 Too many connections; try again later"
        return None


def _is_local(peer: str) -> bool:
    with suppress(ValueError):
        address = ip_address(peer)
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            return address.ipv4_mapped.is_loopback
        return address.is_loopback
    return False


def _group(peer: str) -> str:
    """An IPv4 address, or an IPv6 /64: one customer usually has a whole one."""
    with suppress(ValueError):
        address = ip_address(peer)
        if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
            return str(IPv6Network((int(address) >> _NETWORK << _NETWORK, _NETWORK)))
    return peer
