"""`python -m benchmarks.plain_source PORT MESSAGES BYTES`: a bare sender, where Postfix's smtp-source is missing.

Like that one it keeps 20 connections and sends one command per round trip.
"""

import asyncio
import sys
from typing import cast

from benchmarks.sinks import CONNECTIONS

_LINE = b"X" * 78 + b"\r\n"


class Talker(asyncio.Protocol):
    """Greeting, EHLO, then messages as long as there are any left."""

    def __init__(self, left: list[int], content: bytes, done: asyncio.Future[None]) -> None:
        self._left = left
        self._done = done
        message = (b"MAIL FROM:<bench@example.com>\r\n", b"RCPT TO:<reader@example.net>\r\n", b"DATA\r\n", content)
        self._message = message
        self._step = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        # One reply at a time: multi-line answers (EHLO) end with a line whose fourth character is a space.
        last = data.rstrip(b"\r\n").rpartition(b"\n")[2]
        if not data.endswith(b"\n") or last[3:4] == b"-":
            return
        if self._step == -1:
            self._step = 0
            self._transport.write(b"EHLO source\r\n")
            return
        at = self._step % len(self._message)
        if at == 0:
            if not self._left[0]:
                self._transport.write(b"QUIT\r\n")
                self._transport.close()
                if not self._done.done():
                    self._done.set_result(None)
                return
            self._left[0] -= 1
        self._step += 1
        self._transport.write(self._message[at])

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionResetError("The sink hung up."))


async def main(port: int, messages: int, size: int) -> None:
    head = b"From: <bench@example.com>\r\nTo: <reader@example.net>\r\nSubject: reference\r\n\r\n"
    content = head + _LINE * max((size - len(head)) // len(_LINE), 1) + b".\r\n"
    loop, left = asyncio.get_running_loop(), [messages]
    ends: list[asyncio.Future[None]] = []
    for _ in range(min(CONNECTIONS, messages)):
        done = loop.create_future()
        ends.append(done)
        await loop.create_connection(lambda done=done: Talker(left, content, done), "127.0.0.1", port)
    await asyncio.gather(*ends)


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(*(int(word) for word in sys.argv[1:4])))
