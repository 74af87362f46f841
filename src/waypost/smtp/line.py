"""One caller's line: whole commands and whole mails out of a stream of bytes, and replies in groups (RFC 2920).

Lines end with CR LF and with nothing else. Whoever takes a lone CR or LF for an end reads another mail than we do.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, cast

_LONGEST_COMMAND: Final = 2_048
_MOST_UNREAD: Final = 64 * 1024
_END: Final = b"\r\n.\r\n"
_LAST_WORDS_SECONDS: Final = 10.0


class HungUpError(Exception):
    """Nobody is on the line any more."""


class GarbledError(Exception):
    """What came cannot be a command; where the next one would begin is anybody's guess."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.reply = reply


class TooMuchError(Exception):
    """The mail is larger than allowed. It has been read to its end."""


class BareLineEndError(Exception):
    """A CR or an LF stood alone in the mail. It has been read to its end."""


class Line(asyncio.Protocol):
    def __init__(self, taken_up: Callable[["Line"], None]) -> None:
        self._taken_up = taken_up
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._paused = False
        self._gone = False
        self._replies: list[str] = []

    # What the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._taken_up(self)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._arrived.set()
        if len(self._unread) > _MOST_UNREAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        self._gone = True
        self._arrived.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._transport = None
        self._arrived.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What the session asks

    @property
    def peer(self) -> str:
        """The caller's address."""
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(name[0]) if name else ""

    @property
    def is_secret(self) -> bool:
        return self._transport is not None and self._transport.get_extra_info("ssl_object") is not None

    @property
    def has_more(self) -> bool:
        """Something came that nobody has read yet."""
        return bool(self._unread)

    def say(self, reply: str) -> None:
        """Goes out when there is nothing left to read, together with what was said before."""
        self._replies.append(reply)

    async def command(self) -> str:
        """The next line, without its end."""
        while (end := self._unread.find(b"\n", 0, _LONGEST_COMMAND)) < 0:
            if len(self._unread) >= _LONGEST_COMMAND:
                raise GarbledError("500 5.5.2 Line too long")
            await self._more()
        line = bytes(self._unread[: end + 1])
        del self._unread[: end + 1]
        if not line.endswith(b"\r\n") or b"\r" in line[:-2] or b"\0" in line:
            raise GarbledError("500 5.5.2 A command ends with CR LF, and neither stands alone")
        try:
            return line[:-2].decode()
        except UnicodeDecodeError:
            raise GarbledError("500 5.5.2 A command is ASCII, or UTF-8 in addresses") from None

    async def mail(self, most: int, take: Callable[[int], None], pause_seconds: float) -> bytes:
        """Until CR LF . CR LF, with the dots that were put before lines taken away. `take` is told of every byte that
        is held, and may raise."""
        # As if a line had ended: the final dot may be the first thing that comes.
        held, searched, too_much = bytearray(b"\r\n"), 0, False
        while True:
            if self._unread:
                take(len(self._unread))
                held += self._unread
                self._unread.clear()
            if (end := held.find(_END, searched)) >= 0:
                break
            if len(held) > most + len(_END):
                too_much = True
                del held[: -len(_END)]
            searched = max(0, len(held) - len(_END))
            async with asyncio.timeout(pause_seconds):
                await self._more()
        self._unread[:0] = held[end + len(_END) :]
        content = bytes(held[2 : end + 2])
        if too_much or len(content) > most:
            raise TooMuchError
        lines = content.count(b"\r\n")
        if content.count(b"\r") != lines or content.count(b"\n") != lines:
            raise BareLineEndError
        return (content[1:] if content.startswith(b".") else content).replace(b"\r\n.", b"\r\n")

    async def start_tls(self, context: ssl.SSLContext, seconds: float) -> None:
        """Nothing that was said before counts afterwards; the session sees to that what came early is not read."""
        self.flush()
        if self._transport is None:
            raise HungUpError
        try:
            changed = await self._loop.start_tls(
                self._transport, self, context, server_side=True, ssl_handshake_timeout=seconds
            )
        except (OSError, ssl.SSLError) as error:
            raise HungUpError from error
        if changed is None:
            raise HungUpError
        self._transport = changed

    def hang_up(self) -> None:
        """What was said is still sent, but nobody is waited for who does not listen."""
        self.flush()
        if self._transport is not None:
            self._transport.close()
            self._loop.call_later(_LAST_WORDS_SECONDS, self._transport.abort)

    def flush(self) -> None:
        if self._replies and self._transport is not None and not self._transport.is_closing():
            self._transport.write("".join(f"{reply}\r\n" for reply in self._replies).encode())
        self._replies.clear()

    async def drained(self) -> None:
        """Whoever does not listen to replies gets no more of them."""
        self.flush()
        await self._writable.wait()

    async def _more(self) -> None:
        await self.drained()
        if self._gone:
            raise HungUpError
        self._arrived.clear()
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        await self._arrived.wait()
        if self._gone and not self._unread:
            raise HungUpError
