"""The lower half of a connection: bytes, replies and time. What replies mean is the upper half's (`protocol`)."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from waypost.adapters.vendors.smtp.options import Timeouts
from waypost.adapters.vendors.smtp.replies import Reply, ReplyReader, ReplyUnreadable

MOST_HEARD: Final = 128 * 1024
"""Bytes that are listened to while a session is opened, and again from message to message."""
_NEVER: Final = float("inf")


class Line(asyncio.Protocol):
    def __init__(self, timeouts: Timeouts, loop: asyncio.AbstractEventLoop, now: Callable[[], float]) -> None:
        self.transport: asyncio.Transport | None = None
        self._loop = loop
        self._now = now
        self._reader = ReplyReader()
        self._may_still_hear = MOST_HEARD
        self._asked: deque[Reply] | None = deque()
        """Replies while the session is being opened; None once messages go."""
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._deadline = _NEVER
        self._tick = timeouts.tick
        self._timer: asyncio.TimerHandle | None = None

    @abstractmethod
    def _on_reply(self, reply: Reply, *, followed: bool) -> bool:
        """`followed`: the server has already said more. False: nothing more is to be heard."""

    @abstractmethod
    def _on_silence(self) -> None:
        """The deadline has passed."""

    @abstractmethod
    def break_off(self, error: Exception) -> None:
        """Ends the connection, for any other cause than QUIT."""

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._may_still_hear -= len(data)
            if self._may_still_hear < 0:
                raise ReplyUnreadable
            replies = self._reader.feed(data)
            if self._asked is not None:
                if replies:
                    self._asked.extend(replies)
                    self._wake()
                return
            to_come = len(replies) + self._reader.has_rest
            for reply in replies:
                to_come -= 1
                if not self._on_reply(reply, followed=to_come > 0):
                    return
        except ReplyUnreadable as error:
            self.break_off(error)
        except Exception as error:
            self._loop.call_exception_handler({"message": "A sender's own error", "exception": error, "protocol": self})
            self.break_off(error)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.break_off(exc or ConnectionResetError("The server closed the connection."))

    # Opening the session: one command, one reply

    async def ask(self, command: bytes | None, seconds: float) -> Reply:
        """Raises what ended the connection: `TimeoutError` after so many seconds, `ReplyUnreadable` where something was
        said before it was asked for."""
        if command is not None:
            if self.heard_too_much:
                raise ReplyUnreadable
            self._write(command)
        self._wait(seconds)
        while not self._asked:
            if self._error is not None:
                raise self._error
            self._waiter = self._loop.create_future()
            await self._waiter
        self._deadline = _NEVER
        return self._asked.popleft()

    @property
    def heard_too_much(self) -> bool:
        """The server has said more than it was asked for."""
        return bool(self._asked) or self._reader.has_rest

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _write(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)

    def _close(self, *, abort: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.transport is not None:
            if abort:
                self.transport.abort()
            else:
                self.transport.close()

    # Time: one timer per connection that looks at the deadline now and then, so that a message sets none of its own

    def _wait(self, seconds: float) -> None:
        self._deadline = self._now() + seconds
        if self._timer is None:
            self._timer = self._loop.call_later(self._tick, self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        self._timer = None
        if self._now() < self._deadline:
            self._timer = self._loop.call_later(self._tick, self._look_at_the_clock)
        else:
            self._on_silence()
