"""Mail servers to talk to: an obedient one whose every reply can be replaced, and senders that end with the test."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from waypost.adapters.vendors.smtp.options import Timeouts, smtp_options
from waypost.adapters.vendors.smtp.sender import SmtpSender
from waypost.channels.model import Outcome, OutgoingEmail
from waypost.kernel.clock import VirtualClock

HANG_UP = b"<hang up>"
"""A reply that is none: the server closes the connection."""
SILENCE = b"<silence>"
"""A reply that never comes; the server reads on and says nothing more."""

Replies = dict[str, bytes | Callable[[str], bytes]]


@dataclass
class Peer:
    """`replies` maps a verb (or `greeting`, `.`) to what is answered in place of the usual."""

    features: tuple[str, ...] = ("PIPELINING", "SIZE 10000000", "8BITMIME", "ENHANCEDSTATUSCODES")
    replies: Replies = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    messages: list[tuple[str, list[str], bytes]] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    fell_silent: asyncio.Event = field(default_factory=asyncio.Event)
    tls: ssl.SSLContext | None = None
    """What STARTTLS leads to, with `features_in_private` after it."""
    features_in_private: tuple[str, ...] = ()

    def answer(self, verb: str, line: str, usual: str) -> bytes:
        reply = self.replies.get(verb, usual.encode() + b"\r\n")
        return reply(line) if callable(reply) else reply

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._talk(reader, writer)
        writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sender, recipients, features = "", list[str](), self.features
        if not await self._say(reader, writer, self.answer("greeting", "", "220 peer.example ESMTP")):
            return
        while raw := await reader.readuntil(b"\n"):
            line = raw.decode().rstrip("\r\n")
            self.commands.append(line)
            verb = line.split(" ")[0].split(":")[0].upper()
            usual = "250 2.0.0 Ok"
            if verb == "EHLO":
                usual = "\r\n".join([f"250-{each}" for each in ("peer.example", *features)] + ["250 HELP"])
            elif verb == "MAIL":
                sender, recipients = line[11:].partition(">")[0], []
            elif verb == "STARTTLS" and self.tls is not None:
                usual = "220 go on"
            elif verb == "DATA":
                usual = "354 go on"
            elif verb == "QUIT":
                usual = "221 bye"
            reply = self.answer(verb, line, usual)
            if verb == "RCPT" and reply.startswith(b"2"):
                recipients.append(line[9:].partition(">")[0])
            if not await self._say(reader, writer, reply) or verb == "QUIT":
                return
            if verb == "STARTTLS" and self.tls is not None and reply.startswith(b"220"):
                await writer.start_tls(self.tls)
                features = self.features_in_private
            if verb == "DATA" and reply.startswith(b"354"):
                lines = [b""]
                while lines[-1] != b".\r\n":
                    lines.append(await reader.readuntil(b"\n"))
                data = b"".join(lines)
                reply = self.answer(".", data.decode("latin-1"), f"250 2.0.0 Ok: queued as Q{len(self.messages)}")
                if reply.startswith(b"250"):
                    self.messages.append((sender, recipients, data))
                if not await self._say(reader, writer, reply):
                    return

    async def _say(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: bytes) -> bool:
        if reply == SILENCE:
            self.fell_silent.set()
            await reader.read()
        if reply in (HANG_UP, SILENCE):
            return False
        writer.write(reply)
        await writer.drain()
        return True


@pytest.fixture
async def listen() -> AsyncIterator[Callable[..., Awaitable[int]]]:
    """`await listen(handler)` serves on a free port of this host until the test ends."""
    servers = list[asyncio.Server]()

    async def start(
        handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], **options: object
    ) -> int:
        server = await asyncio.start_server(handler, "127.0.0.1", 0, limit=2**24, **options)
        servers.append(server)
        return server.sockets[0].getsockname()[1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
async def peer(listen: Callable[..., Awaitable[int]]) -> Peer:
    peer = Peer()
    peer.port = await listen(peer.serve)
    return peer


@pytest.fixture
async def sender_to() -> AsyncIterator[Callable[..., SmtpSender]]:
    """`sender_to(port, "tls=required", connections=1)`: closed after the test. Silence is counted by `clock`."""
    senders = list[SmtpSender]()

    def make(
        port: int,
        query: str = "tls=off",
        *,
        user: str = "",
        scheme: str = "smtp",
        clock: VirtualClock | None = None,
        **options: object,
    ) -> SmtpSender:
        url = f"{scheme}://{user}127.0.0.1:{port}" + (f"?{query}" if query else "")
        options.setdefault("timeouts", Timeouts(closing=0.2, tick=0.005))
        senders.append(SmtpSender(smtp_options(url, **options), now=None if clock is None else clock.monotonic))
        return senders[-1]

    yield make
    for sender in senders:
        await sender.close()


@dataclass
class Noted:
    """A wire that remembers, in order."""

    events: list[tuple[str, int]] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def going(self, index: int) -> None:
        self.events.append(("going", index))

    def answered(self, index: int, outcome: Outcome) -> None:
        assert index not in self.outcomes
        self.events.append(("answered", index))
        self.outcomes[index] = outcome

    @property
    def went(self) -> set[int]:
        return {index for event, index in self.events if event == "going"}


@pytest.fixture
def wire() -> Noted:
    return Noted()


def mail(number: int = 0, *, to: tuple[str, ...] | None = None, body: str = "Hello\r\n") -> OutgoingEmail:
    return OutgoingEmail(
        "bounce@example.com", to or (f"jane{number}@example.com",), f"Subject: {number}\r\n\r\n{body}".encode()
    )


@pytest.fixture(name="mail")
def mail_maker() -> Callable[..., OutgoingEmail]:
    return mail


@pytest.fixture
def noted() -> type[Noted]:
    return Noted
