"""A web server on loopback that answers as it is told and remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Behaviour = Callable[["Asked"], Awaitable["Reply | bytes | None"]]


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: bytes
    open_now: int
    """How many requests, this one included, are being answered."""


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b"thank you"
    headers: dict[str, str] = field(default_factory=dict)

    def __bytes__(self) -> bytes:
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return f"HTTP/1.1 {self.status} Said\r\nContent-Length: {len(self.body)}\r\n{head}\r\n".encode() + self.body


@dataclass
class WebPeer:
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    behave: Behaviour | None = None
    """Answers with a reply, with raw bytes, or (None) never. Without one, all is well."""
    open_now: int = 0
    most_open: int = 0
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while line := await reader.readline():
                path = line.split()[1].decode()
                headers: dict[str, str] = {}
                while (header := (await reader.readline()).strip()) != b"":
                    name, _, value = header.decode().partition(":")
                    headers[name.strip().lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.open_now += 1
                self.most_open = max(self.most_open, self.open_now)
                try:
                    asked = Asked(path, headers, body, self.open_now)
                    self.asked.append(asked)
                    reply = Reply() if self.behave is None else await self.behave(asked)
                    if reply is None:
                        await asyncio.Event().wait()
                finally:
                    self.open_now -= 1
                writer.write(bytes(reply))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def web_peer() -> AsyncIterator[WebPeer]:
    peer = WebPeer()
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with suppress(asyncio.CancelledError):
            await peer.serve(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
            await task
