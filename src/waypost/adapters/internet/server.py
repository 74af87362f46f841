"""Speaks SMTP as all providers at once, and throws away what it is told."""

import asyncio
import re
from typing import Final

from waypost.rehearsal.model import Verdict
from waypost.rehearsal.world import World

_ADDRESS: Final = re.compile(rb"<([^<>]*)>")
_LONGEST: Final = 64 * 1024 * 1024
_HELLO: Final = b"250-rehearsal.invalid\r\n250-PIPELINING\r\n250-SIZE 52428800\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n"
_REPLIES: Final = {
    Verdict.TAKEN: b"250 2.1.5 Ok\r\n",
    Verdict.GREYLISTED: b"450 4.2.0 Greylisted, come back later\r\n",
    Verdict.LIMITED: b"450 4.7.28 Too much mail from you this hour\r\n",
    Verdict.STORM: b"421 4.3.2 Service not available\r\n",
    Verdict.FULL: b"452 4.2.2 The mailbox is full\r\n",
    Verdict.BLOCKED: b"554 5.7.1 Refused by policy\r\n",
    Verdict.UNKNOWN: b"550 5.1.1 No such user\r\n",
}


class FakeInternet:
    def __init__(self, world: World) -> None:
        self._world = world
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=_LONGEST, backlog=256)
        return self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        if talk is not None:
            self._talks.add(talk)
            talk.add_done_callback(self._talks.discard)
        try:
            writer.write(b"220 rehearsal.invalid ESMTP\r\n")
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken: list[str] = []
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"EHLO":
                writer.write(_HELLO)
            elif verb == b"MAIL":
                taken = []
                writer.write(b"250 2.1.0 Ok\r\n")
            elif verb == b"RCPT":
                found = _ADDRESS.search(line)
                address = found[1].decode(errors="replace") if found else ""
                verdict = self._world.judge(address)
                writer.write(_REPLIES[verdict])
                if verdict is Verdict.STORM:
                    return
                if verdict is Verdict.TAKEN:
                    taken.append(address)
            elif verb == b"DATA":
                await self._on_data(reader, writer, taken)
                taken = []
            elif verb == b"QUIT":
                writer.write(b"221 2.0.0 Bye\r\n")
                return
            else:
                writer.write(b"250 2.0.0 Ok\r\n")

    async def _on_data(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, taken: list[str]) -> None:
        if not taken:
            writer.write(b"554 5.5.1 No valid recipients\r\n")
            return
        writer.write(b"354 Go on\r\n")
        last = b"\r\n"
        while (line := await reader.readline()) and not (line == b".\r\n" and last.endswith(b"\r\n")):
            last = line
        for address in taken:
            self._world.take(address)
        writer.write(b"250 2.0.0 Taken\r\n")
