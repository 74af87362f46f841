"""One SMTP session, from the server's side. Replies of a group of commands go out together (RFC 2920)."""

import asyncio
import re
from typing import Final, Protocol, cast

from waypost.adapters.catchall.intake import Doorkeeper, Intake
from waypost.mailbox.model import LARGEST_MESSAGE, Letter
from waypost.mailbox.return_path import ReturnPath

_LONGEST_LINE: Final = 2_048
_MOST_RECIPIENTS: Final = 100
_MOST_UNREAD: Final = 64 * 1024
_IDLE_SECONDS: Final = 300.0

_PATH: Final = re.compile(r"(?:FROM|TO): ?<([^<>\s]{0,320})>(?: (.*))?\Z", re.IGNORECASE)
_SIZE: Final = re.compile(r"\bSIZE=(\d{1,19})\b", re.IGNORECASE)

_STRANGER: Final = (
    "550 5.7.1 Only what Waypost sends for a sandbox tenant is taken here; this return path is not its own"
)
_HELLO: Final = f"250-waypost catch-all\r\n250-PIPELINING\r\n250-SIZE {LARGEST_MESSAGE}\r\n250-SMTPUTF8\r\n250 8BITMIME"


class Host(Protocol):
    """The server a session belongs to."""

    def welcomes(self, session: "Session") -> bool: ...

    def forget(self, session: "Session") -> None: ...


class Session(asyncio.Protocol):
    def __init__(self, host: Host, doorkeeper: Doorkeeper, intake: Intake, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._host = host
        self._doorkeeper = doorkeeper
        self._intake = intake
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()
        self._replies: list[str] = []
        self._pending: asyncio.Future[None] | None = None
        """What must be known before the next command is read."""
        self._sender: ReturnPath | None = None
        self._recipients: list[str] = []
        self._in_content = False
        self._too_large = False
        self._searched = 0
        self._paused = False
        self._last_heard = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if not self._host.welcomes(self):
            self._say("421 4.3.2 Too many connections; try again later")
            self.hang_up()
            return
        self._timer = self._loop.call_later(self._idle_seconds, self._look_at_the_clock)
        self._say("220 waypost catch-all ESMTP")
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._unread.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._host.forget(self)

    def data_received(self, data: bytes) -> None:
        self._last_heard = self._loop.time()
        self._unread += data
        self._work()

    def hang_up(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _work(self) -> None:
        """Reads as far as it can: until a command is incomplete, or must wait for the mailbox."""
        while (
            self._pending is None
            and self._transport is not None
            and (self._read_content() if self._in_content else self._read_command())
        ):
            pass
        self._flush()
        must_pause = self._pending is not None and len(self._unread) > _MOST_UNREAD
        if self._transport is not None and must_pause != self._paused:
            self._paused = must_pause
            if must_pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _wait_for(self, pending: asyncio.Future[None]) -> None:
        self._pending = pending
        pending.add_done_callback(self._go_on)

    def _go_on(self, pending: asyncio.Future[None]) -> None:
        self._pending = None
        if self._in_content:
            self._end_content(kept=not pending.cancelled() and pending.exception() is None)
        elif pending.cancelled() or pending.exception() is not None:
            self._say("451 4.3.0 The return path could not be checked; try again")
        self._work()

    # Commands

    def _read_command(self) -> bool:
        end = self._unread.find(b"\n", 0, _LONGEST_LINE)
        if end < 0:
            if len(self._unread) >= _LONGEST_LINE:
                self._say("500 5.5.2 Line too long")
                self.hang_up()
            return False
        line = bytes(self._unread[: end + 1])
        del self._unread[: end + 1]
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = ""
        if not text.endswith("\r\n"):
            self._say("500 5.5.2 A command is UTF-8 and ends with CR LF")
            return True
        verb, _, rest = text[:-2].partition(" ")
        match verb.upper():
            case "EHLO" | "HELO":
                self._reset()
                self._say(_HELLO if verb.upper() == "EHLO" else "250 waypost catch-all")
            case "MAIL":
                self._on_mail(rest)
            case "RCPT":
                self._on_recipient(rest)
            case "DATA":
                self._on_data()
            case "RSET":
                self._reset()
                self._say("250 2.0.0 Ok")
            case "NOOP":
                self._say("250 2.0.0 Ok")
            case "QUIT":
                self._say("221 2.0.0 Bye")
                self.hang_up()
            case _:
                self._say("502 5.5.1 This server does not know that command")
        return True

    def _on_mail(self, rest: str) -> None:
        path = _PATH.match(rest)
        size = _SIZE.search(path[2] or "") if path else None
        if path is None or not rest.upper().startswith("FROM"):
            self._say("501 5.5.4 Say MAIL FROM:<address>")
        elif self._sender is not None:
            self._say("503 5.5.1 There is a sender already")
        elif size is not None and int(size[1]) > LARGEST_MESSAGE:
            self._say(f"552 5.3.4 At most {LARGEST_MESSAGE} bytes")
        else:
            self._wait_for(self._loop.create_task(self._admit(path[1])))

    async def _admit(self, address: str) -> None:
        self._sender = await self._doorkeeper.admit(address)
        self._say(_STRANGER if self._sender is None else "250 2.1.0 Ok")

    def _on_recipient(self, rest: str) -> None:
        path = _PATH.match(rest)
        if path is None or not rest.upper().startswith("TO") or "@" not in path[1]:
            self._say("501 5.5.4 Say RCPT TO:<address>")
        elif self._sender is None:
            self._say("503 5.5.1 Say MAIL FROM first")
        elif len(self._recipients) >= _MOST_RECIPIENTS:
            self._say("452 4.5.3 Too many recipients")
        else:
            self._recipients.append(path[1])
            self._say("250 2.1.5 Ok")

    def _on_data(self) -> None:
        if not self._recipients:
            self._say("503 5.5.1 Say MAIL FROM and RCPT TO first")
            return
        self._in_content = True
        self._too_large = False
        # As if a line had ended: the final dot may be the first thing that comes.
        self._unread[:0] = b"\r\n"
        self._searched = 0
        self._say("354 Go on, and end with a dot on a line of its own")

    # Content

    def _read_content(self) -> bool:
        unread = self._unread
        end = unread.find(b"\r\n.\r\n", self._searched)
        if end < 0:
            if len(unread) > LARGEST_MESSAGE + 1_024:
                self._too_large = True
                del unread[:-4]
            self._searched = max(0, len(unread) - 4)
            return False
        content = bytes(unread[2 : end + 2])
        del unread[: end + 5]
        if content.startswith(b".."):
            content = content[1:]
        content = content.replace(b"\r\n..", b"\r\n.")
        lines = content.count(b"\r\n")
        if self._too_large or len(content) > LARGEST_MESSAGE:
            self._end_content_with(f"552 5.3.4 At most {LARGEST_MESSAGE} bytes")
        elif content.count(b"\r") != lines or content.count(b"\n") != lines:
            self._end_content_with("554 5.6.0 Lines end with CR LF, and neither stands alone")
        elif self._sender is not None:
            copied = self._sender.notification_id
            letter = Letter(recipients=tuple(self._recipients), data=content, notification_id=copied)
            self._wait_for(self._intake.put(self._sender.tenant_id, letter))
        return True

    def _end_content(self, *, kept: bool) -> None:
        self._end_content_with("250 2.0.0 Ok: caught" if kept else "451 4.3.0 It could not be kept; try again")

    def _end_content_with(self, reply: str) -> None:
        self._reset()
        self._say(reply)

    def _reset(self) -> None:
        self._sender = None
        self._recipients = []
        self._in_content = False

    # The line

    def _say(self, reply: str) -> None:
        self._replies.append(reply)

    def _flush(self) -> None:
        if self._replies and self._transport is not None:
            self._transport.write("".join(f"{reply}\r\n" for reply in self._replies).encode("ascii"))
        self._replies.clear()

    def _look_at_the_clock(self) -> None:
        left = self._last_heard + self._idle_seconds - self._loop.time()
        if left > 0 or self._pending is not None:
            self._timer = self._loop.call_later(max(left, 1.0), self._look_at_the_clock)
        else:
            self._say("421 4.4.2 Nothing was said for too long")
            self.hang_up()
