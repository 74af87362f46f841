"""A database server that greets and dies in one breath: its farewell reaches the driver before the first question."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


_GREETING = b"".join(
    (
        _message(b"R", struct.pack("!I", 0)),
        _message(b"S", b"server_version\0" + b"18.0\0"),
        _message(b"S", b"client_encoding\0UTF8\0"),
        _message(b"K", struct.pack("!II", 1, 2)),
        _message(b"Z", b"I"),
    )
)
_FAREWELL = _message(b"E", b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0")


@asynccontextmanager
async def dying_database() -> AsyncIterator[str]:
    """Its address."""

    async def greet_and_die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = struct.unpack("!I", await reader.readexactly(4))[0]
        await reader.readexactly(size - 4)
        writer.write(_GREETING + _FAREWELL)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet_and_die, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://u:p@127.0.0.1:{port}/x?sslmode=disable"
    finally:
        server.close()
