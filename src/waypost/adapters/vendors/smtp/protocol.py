"""One connection: a message after the other, commands in groups where the server takes them so (RFC 2920).

While the content of a message is on its way the envelope of the next already follows it, so a message costs one round
trip. `_envelope_of` is the message whose commands are out, `_content_of` the one whose content is; the replies that are
still to come stand in `_expected`, and whatever does not fit them ends the connection.
"""

import asyncio
from collections import deque
from dataclasses import astuple
from enum import Enum, auto
from typing import Final, Protocol, cast

from waypost.adapters.vendors.smtp.envelope import Features, commands_of, fault_of
from waypost.adapters.vendors.smtp.jobs import Job, wire_form
from waypost.adapters.vendors.smtp.options import SmtpOptions
from waypost.adapters.vendors.smtp.outcomes import Step, accepted, lost, reason_of, refused
from waypost.adapters.vendors.smtp.replies import Reply, ReplyReader, ReplyUnreadable
from waypost.channels.model import OutcomeReason as Why

_ONE_WRITE: Final = 256 * 1024
_BLOCK: Final = 64 * 1024
_QUIT_SECONDS: Final = 5.0


class Due(Enum):
    """Which command the next reply belongs to."""

    MAIL = auto()
    RCPT = auto()
    DATA = auto()
    FINAL = auto()
    RSET = auto()
    LONE_DOT = auto()
    QUIT = auto()


class Pool(Protocol):
    """What a connection asks of the pool it belongs to."""

    def next_job(self) -> Job | None: ...

    def job_ahead(self) -> Job | None:
        """A job for after the present one, as long as nobody else is free to take it."""
        ...

    def is_free(self, connection: "Connection") -> None: ...

    def give_back(self, job: Job, reason: Why) -> None:
        """Its content was never begun: another connection may take it."""
        ...

    def has_ended(self, connection: "Connection") -> None:
        """It takes no more jobs."""
        ...

    def is_gone(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    def __init__(self, pool: Pool, options: SmtpOptions, loop: asyncio.AbstractEventLoop) -> None:
        self._pool = pool
        self._timeouts = options.timeouts
        self._most = options.messages_per_connection
        self._loop = loop
        self._reader = ReplyReader()
        self.transport: asyncio.Transport | None = None
        self.features = Features()
        self._greetings: deque[Reply] | None = deque()
        """Replies while the session is being opened; None once messages go."""
        self._waiter: asyncio.Future[None] | None = None
        self._expected: deque[Due] = deque()
        self._unsent: deque[tuple[Due, bytes]] = deque()
        self._envelope_of: Job | None = None
        self._content_of: Job | None = None
        self._refusal: tuple[Reply, Step] | None = None
        self._recipients_answered = 0
        self._dot_written = False
        self._rest_of_content: memoryview | None = None
        self._paused = False
        self._count = 0
        self._deadline = 0.0
        self._tick = max(min(astuple(options.timeouts)) / 4, 0.005)
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._quitting = False
        self.error: Exception | None = None
        """Why the session could not be opened."""

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            replies = self._reader.feed(data)
            last = len(replies) - 1
            for position, reply in enumerate(replies):
                if self._ended and not self._quitting:
                    return
                self._on_reply(reply, followed=position < last or self._reader.has_rest)
        except ReplyUnreadable as error:
            self._break_off(error)
        except Exception as error:
            self._loop.call_exception_handler({"message": "A sender's own error", "exception": error, "protocol": self})
            self._break_off(error)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._break_off(exc or ConnectionResetError("The server closed the connection."))
        self._pool.is_gone(self)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._rest_of_content is not None and not self._ended:
            self._write_blocks()

    # Opening the session: one command, one reply

    async def ask(self, command: bytes | None, seconds: float) -> Reply:
        """Raises what ended the connection, `ReplyUnreadable` or `TimeoutError`."""
        if command is not None:
            self._write(command)
        async with asyncio.timeout(seconds):
            while not self._greetings:
                if self.error is not None:
                    raise self.error
                self._waiter = self._loop.create_future()
                await self._waiter
        return self._greetings.popleft()

    @property
    def heard_too_much(self) -> bool:
        """The server has said more than it was asked for."""
        return bool(self._greetings) or self._reader.has_rest

    def begin(self, job: Job | None) -> None:
        """The session is open: from here on messages go."""
        self._greetings = None
        self.take(job)

    # Messages

    def take(self, job: Job | None) -> None:
        while job is not None:
            fault = fault_of(job.email, self.features)
            if fault is None:
                self._write(self._open_envelope(job))
                self._wait(self._timeouts.command)
                return
            job.finish(fault)
            job = self._pool.next_job()
        self._wait(self._timeouts.idle)
        self._pool.is_free(self)

    def _on_reply(self, reply: Reply, *, followed: bool) -> None:
        if self._greetings is not None:
            self._greetings.append(reply)
            self._wake()
        elif reply.code == 421:
            self._end_session(reply)
        elif not self._expected:
            raise ReplyUnreadable
        else:
            match self._expected.popleft():
                case Due.FINAL:
                    self._on_final(reply)
                case Due.MAIL:
                    self._on_mail(reply)
                case Due.RCPT:
                    self._on_recipient(reply)
                case Due.DATA:
                    self._on_data(reply, followed=followed)
                case Due.RSET if reply.code >= 400:
                    raise ReplyUnreadable
                case Due.RSET | Due.LONE_DOT:
                    self._proceed()
                case Due.QUIT:
                    self._close()

    def _open_envelope(self, job: Job) -> bytes:
        """The commands to write now; further ones wait for replies."""
        self._envelope_of = job
        self._refusal = None
        self._recipients_answered = 0
        self._count += 1
        job.started = self._loop.time()
        mail, recipients = commands_of(job.email, self.features)
        if not self.features.pipelining:
            self._unsent.extend((Due.RCPT, each) for each in recipients)
            self._unsent.append((Due.DATA, b"DATA\r\n"))
            self._expected.append(Due.MAIL)
            return mail
        self._expected.append(Due.MAIL)
        if len(recipients) == 1:
            self._expected.append(Due.RCPT)
            self._expected.append(Due.DATA)
            return mail + recipients[0] + b"DATA\r\n"
        # With several recipients, DATA waits for their replies: the content must not follow when the first is refused.
        self._expected.extend([Due.RCPT] * len(recipients))
        self._unsent.append((Due.DATA, b"DATA\r\n"))
        return mail + b"".join(recipients)

    def _on_mail(self, reply: Reply) -> None:
        if reply.code >= 400:
            self._refusal = (reply, Step.SENDER)
        elif reply.code >= 300:
            raise ReplyUnreadable
        if not self._expected:
            self._continue_envelope()

    def _on_recipient(self, reply: Reply) -> None:
        if 300 <= reply.code < 400:
            raise ReplyUnreadable
        if reply.code >= 400 and self._refusal is None:
            if self._recipients_answered == 0:
                self._refusal = (reply, Step.RECIPIENT)
            elif self._envelope_of is not None:
                self._envelope_of.note += f" / copy {self._recipients_answered} refused: {reply.text[:100]}"
        self._recipients_answered += 1
        if not self._expected:
            self._continue_envelope()

    def _continue_envelope(self) -> None:
        if self._refusal is not None:
            self._finish_refused()
            self._reset()
            return
        due, command = self._unsent.popleft()
        self._expected.append(due)
        self._write(command)
        self._wait(self._timeouts.data if due is Due.DATA else self._timeouts.command)

    def _on_data(self, reply: Reply, *, followed: bool) -> None:
        job = self._envelope_of
        if job is None:
            raise ReplyUnreadable
        if self._refusal is not None:
            self._finish_refused()
            if reply.code != 354:
                self._reset()
                return
            # Nobody would get it, but the server waits for a message: an empty one.
            self._expected.append(Due.LONE_DOT)
            self._write(b".\r\n")
            self._wait(self._timeouts.final)
        elif reply.code >= 400:
            self._refusal = (reply, Step.CONTENT)
            self._finish_refused()
            self._reset()
        elif reply.code != 354 or followed:
            raise ReplyUnreadable
        else:
            self._send_content(job)

    def _send_content(self, job: Job) -> None:
        self._envelope_of, self._content_of = None, job
        data = wire_form(job.email.data)
        self._expected.append(Due.FINAL)
        self._dot_written = False
        job.batch.going(job.index)
        if len(data) > _ONE_WRITE:
            self._rest_of_content = memoryview(data + b".\r\n")
            self._write_blocks()
            return
        self._dot_written = True
        self._write(b"".join((data, b".\r\n", self._envelope_ahead())))
        self._wait(self._timeouts.final)

    def _envelope_ahead(self) -> bytes:
        if not self.features.pipelining or self._count >= self._most:
            return b""
        while (job := self._pool.job_ahead()) is not None:
            fault = fault_of(job.email, self.features)
            if fault is None:
                return self._open_envelope(job)
            job.finish(fault)
        return b""

    def _write_blocks(self) -> None:
        """A large message goes as fast as the server reads it. The final dot is in the last block."""
        rest = self._rest_of_content
        while rest is not None and not self._paused and not self._ended:
            block, rest = rest[:_BLOCK], rest[_BLOCK:]
            if not rest:
                rest, self._dot_written = None, True
            self._rest_of_content = rest
            self._write(bytes(block))
        self._wait(self._timeouts.block if rest is not None else self._timeouts.final)

    def _on_final(self, reply: Reply) -> None:
        job = self._content_of
        if job is None or (reply.code < 400 and (reply.code >= 300 or not self._dot_written)):
            raise ReplyUnreadable
        self._content_of = None
        latency = self._latency(job)
        if reply.code < 300:
            job.finish(accepted(reply, latency, job.note))
        else:
            several = len(job.email.envelope_to) > 1
            job.finish(refused(reply, Step.CONTENT, latency, several_recipients=several))
        if not self._dot_written:
            self._break_off(ConnectionAbortedError("The server answered before it had the whole message."))
        elif self._envelope_of is None:
            self._proceed()
        else:
            self._wait(self._timeouts.command)

    def _finish_refused(self) -> None:
        job, refusal = self._envelope_of, self._refusal
        if job is not None and refusal is not None:
            self._envelope_of = self._refusal = None
            job.finish(refused(*refusal, self._latency(job)))

    def _reset(self) -> None:
        self._unsent.clear()
        self._expected.append(Due.RSET)
        self._write(b"RSET\r\n")
        self._wait(self._timeouts.command)

    def _proceed(self) -> None:
        if self._count >= self._most:
            self.quit()
        else:
            self.take(self._pool.next_job())

    # Endings

    def quit(self) -> None:
        if self._ended:
            return
        self._ended = self._quitting = True
        self._expected.append(Due.QUIT)
        self._write(b"QUIT\r\n")
        self._wait(_QUIT_SECONDS)
        self._pool.has_ended(self)

    def abort(self, error: Exception) -> None:
        self._break_off(error)

    def _end_session(self, reply: Reply) -> None:
        """421 is about the session. The message it answers is deferred, any other goes over another connection."""
        due = self._expected[0] if self._expected else None
        if due is Due.FINAL and self._content_of is not None:
            job, self._content_of = self._content_of, None
            job.finish(refused(reply, Step.CONTENT, self._latency(job)))
        elif due in (Due.MAIL, Due.RCPT, Due.DATA) and self._envelope_of is not None:
            self._refusal = self._refusal or (reply, Step.SENDER)
            self._finish_refused()
        self._break_off(ConnectionAbortedError("The server ended the session."))

    def _break_off(self, error: Exception) -> None:
        """The end of the connection for any other cause than QUIT; says what that means for the messages on it."""
        self._close(abort=True)
        if self._ended:
            return
        self._ended = True
        self.error = error
        self._wake()
        reason = reason_of(error)
        content_of, self._content_of = self._content_of, None
        if content_of is not None:
            content_of.finish(lost(reason, self._latency(content_of), in_doubt=self._dot_written))
        if self._refusal is not None:
            self._finish_refused()
        envelope_of, self._envelope_of = self._envelope_of, None
        if envelope_of is not None:
            if content_of is not None or reason is Why.CONNECTION:
                self._pool.give_back(envelope_of, reason)
            else:
                envelope_of.finish(lost(reason, self._latency(envelope_of), in_doubt=False))
        self._pool.has_ended(self)

    def _close(self, *, abort: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.transport is not None:
            if abort:
                self.transport.abort()
            else:
                self.transport.close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _write(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)

    def _latency(self, job: Job) -> int:
        return int((self._loop.time() - job.started) * 1000)

    # Time: one timer per connection that looks at the deadline now and then, so that a message sets none of its own

    def _wait(self, seconds: float) -> None:
        self._deadline = self._loop.time() + seconds
        if self._timer is None:
            self._timer = self._loop.call_later(self._tick, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_later(self._tick, self._on_timer)
        elif self._expected:
            self._break_off(TimeoutError("The server did not answer in time."))
        else:
            self.quit()
