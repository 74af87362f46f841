"""A mail server on loopback, in a process of its own, that keeps count of what it has taken responsibility for.

A message counts once the server has decided to take it, whether or not anybody hears the reply: that is what the
recipient gets. How it behaves is told over a second port, one JSON object per line (see `recording.py`).

    python -m benchmarks.chaos.sink
"""

import asyncio
import base64
import json
import random
import re
import sys
from dataclasses import dataclass, field
from typing import Any

_MESSAGE_ID = re.compile(rb"^message-id:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_ADDRESS = re.compile(rb"<([^>]*)>")
_LONGEST_LINE = 16 * 2**20
_POISONS = (
    b"250 2.0.0 queued as \x00\x00evil\x00\r\n",
    b"550 5.1.1 Empf\xe4nger unbekannt \xff\xfe\r\n",
    b"451 4.3.0 \xed\xa0\x80 later\r\n",
    b"250 " + b"x" * 2**20 + b"\r\n",
    b"250 one\r\n250 two\r\n354 three\r\n",
    b"\x00\x01\x02 not a reply\r\n",
)


@dataclass
class Manners:
    """How the server behaves until it is told otherwise."""

    greeting: bool = True
    """False: callers are left waiting before the first word."""
    hold: bool = False
    """Takes the message, and keeps silent about it until released."""
    pause: float = 0.0
    """Seconds between taking a message and saying so."""
    drop_before: float = 0.0
    """How many of a hundred messages are not taken, the line cut instead."""
    drop_after: float = 0.0
    """How many of a hundred are taken, and the line cut instead of saying so."""
    poison: float = 0.0
    """How many of a hundred messages are answered with something that is no decent reply."""
    scripts: dict[str, dict[str, str]] = field(default_factory=dict)
    """By recipient and step (`rcpt`, `data`, `final`): the very bytes of the reply, in base64; `endless` for no end."""


class Sink:
    def __init__(self) -> None:
        self.taken: list[tuple[str, str]] = []
        self.held = 0
        self.lines = 0
        self.manners = Manners()
        self._changed = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines += 1
        try:
            while not self.manners.greeting:
                await self._change()
            writer.write(b"220 sink ESMTP\r\n")
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.lines -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to = ""
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"EHLO":
                writer.write(b"250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n")
            elif verb == b"RCPT":
                to = _ADDRESS.findall(line)[0].decode()
                await self._reply(writer, to, "rcpt", b"250 fine\r\n")
            elif verb == b"DATA":
                if (await self._reply(writer, to, "data", b"354 go on\r\n"))[:3] == b"354":
                    raw = await reader.readuntil(b".\r\n")
                    while raw != b".\r\n" and not raw.endswith(b"\r\n.\r\n"):
                        raw += await reader.readuntil(b".\r\n")
                    await self._take(writer, to, raw)
            elif verb == b"QUIT":
                writer.write(b"221 bye\r\n")
                return
            else:
                writer.write(b"250 fine\r\n")

    async def _take(self, writer: asyncio.StreamWriter, to: str, raw: bytes) -> None:
        chance = random.uniform(0, 100)
        if chance < self.manners.drop_before:
            raise ConnectionAbortedError
        found = _MESSAGE_ID.search(raw)
        script = self.manners.scripts.get(to, {}).get("final")
        poison = random.choice(_POISONS) if random.uniform(0, 100) < self.manners.poison else None
        if poison is not None:
            script = base64.b64encode(poison).decode()
        if raw != b".\r\n" and (script is None or (script != "endless" and base64.b64decode(script)[:3] == b"250")):
            self.taken.append((to, found[1].decode() if found else ""))
        if chance < self.manners.drop_before + self.manners.drop_after:
            raise ConnectionAbortedError
        if self.manners.pause:
            await asyncio.sleep(self.manners.pause)
        self.held += 1
        while self.manners.hold:
            await self._change()
        self.held -= 1
        if poison is not None:
            writer.write(poison)
        else:
            await self._reply(writer, to, "final", b"250 kept\r\n")

    async def _reply(self, writer: asyncio.StreamWriter, to: str, step: str, ordinary: bytes) -> bytes:
        script = self.manners.scripts.get(to, {}).get(step)
        if script == "endless":
            while True:
                writer.write(b"250-" + b"and so on " * 50 + b"\r\n")
                await writer.drain()
        reply = ordinary if script is None else base64.b64decode(script)
        writer.write(reply)
        return reply

    async def _change(self) -> None:
        await self._changed.wait()

    async def obey(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            order: dict[str, Any] = json.loads(line)
            if order["do"] == "behave":
                self.manners = Manners(**{**vars(self.manners), **order["manners"]})
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            answer = {"held": self.held, "lines": self.lines, "taken": len(self.taken)}
            if order["do"] == "tell":
                answer["messages"] = self.taken[order["since"] :]
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        writer.close()


async def _main() -> None:
    sink = Sink()
    mail = await asyncio.start_server(sink.talk, "127.0.0.1", 0, limit=_LONGEST_LINE, backlog=512)
    orders = await asyncio.start_server(sink.obey, "127.0.0.1", 0, limit=_LONGEST_LINE)
    ports = [server.sockets[0].getsockname()[1] for server in (mail, orders)]
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    # Ends with whoever started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
