"""One connection: a message after the other, commands in groups where the server takes them so (RFC 2920).

While the content of a message is on its way the envelope of the next already follows it, so a message costs one round
trip. `_envelope_of` is the message whose commands are out, `_content_of` the one whose content is; the replies that are
still to come stand in `_expected`, and whatever does not fit them ends the connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Protocol

from waypost.adapters.vendors.smtp.envelope import Features, announce
from waypost.adapters.vendors.smtp.jobs import Job, wire_form
from waypost.adapters.vendors.smtp.line import MOST_HEARD, Line
from waypost.adapters.vendors.smtp.options import SmtpOptions
from waypost.adapters.vendors.smtp.outcomes import Step, accepted, lost, reason_of, refused
from waypost.adapters.vendors.smtp.replies import Reply, ReplyUnreadable
from waypost.channels.model import Outcome
from waypost.channels.model import OutcomeReason as Why
from waypost.channels.ports import Withdrawn

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


_MAIL, _RCPT, _DATA, _FINAL = Due.MAIL, Due.RCPT, Due.DATA, Due.FINAL


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

    def withdraw(self, job: Job) -> None:
        """Neither it nor anything of its call that has not begun may go."""
        ...

    def has_ended(self, connection: "Connection") -> None:
        """It takes no more jobs."""
        ...

    def is_gone(self, connection: "Connection") -> None: ...

    def was_turned_away(self, outcome: Outcome) -> None:
        """The server ended a session over its first message."""
        ...


class Connection(Line):
    def __init__(
        self, pool: Pool, options: SmtpOptions, loop: asyncio.AbstractEventLoop, now: Callable[[], float] | None = None
    ) -> None:
        super().__init__(options.timeouts, loop, now or loop.time)
        self._pool = pool
        self._timeouts = options.timeouts
        self._most = options.messages_per_connection
        self.features = Features()
        self.encrypted = False
        self._expected: deque[Due] = deque()
        self._unsent: deque[tuple[Due, bytes]] = deque()
        self._envelope_of: Job | None = None
        self._content_of: Job | None = None
        self._refusal: tuple[Reply, Step] | None = None
        self._recipients_answered = 0
        self._dot_written = False
        self._rest_of_content: deque[memoryview] = deque()
        """A file that many messages carry is not copied for each."""
        self._paused = False
        self._count = 0
        """Messages begun."""
        self._ended = False

    # Messages

    def begin(self, job: Job | None) -> None:
        """The session is open: from here on messages go."""
        self._asked = None
        self.take(job)

    @property
    def carried(self) -> int:
        """How many messages it has begun to carry."""
        return self._count

    def take(self, job: Job | None) -> None:
        while job is not None:
            if group := self._open_envelope(job):
                self._write(group)
                self._wait(self._timeouts.command)
                return
            job = self._pool.next_job()
        self._wait(self._timeouts.idle)
        self._pool.is_free(self)

    def _on_reply(self, reply: Reply, *, followed: bool) -> bool:
        code, expected = reply.code, self._expected
        if code == 421:
            self._end_session(reply)
        elif not expected:
            raise ReplyUnreadable
        else:
            due = expected.popleft()
            if due is _MAIL or due is _RCPT:
                if due is _RCPT:
                    self._recipients_answered += 1
                if code >= 300:
                    self._on_refusal(reply, due)
                if not expected:
                    self._continue_envelope()
            elif due is _DATA:
                self._on_data(reply, followed=followed)
            elif due is _FINAL:
                self._on_final(reply)
            elif due is Due.QUIT:
                self._close()
            elif due is Due.RSET and code >= 400:
                raise ReplyUnreadable
            else:
                self._proceed()
        return not self._ended or bool(expected)

    def _open_envelope(self, job: Job) -> bytes:
        """The commands to write now; further ones wait for replies. Empty where the job is answered already."""
        commands = announce(job.email, self.features)
        if not isinstance(commands, list):
            job.finish(commands)
            return b""
        self._envelope_of = job
        self._refusal = None
        self._recipients_answered = 0
        self._count += 1
        self._may_still_hear = MOST_HEARD
        job.started = self._now()
        expected = self._expected
        expected.append(_MAIL)
        if not self.features.pipelining:
            self._unsent.extend((Due.RCPT, each) for each in commands[1:])
            self._unsent.append((Due.DATA, b"DATA\r\n"))
            return commands[0]
        if len(commands) == 2:
            expected.append(_RCPT)
            expected.append(_DATA)
            return commands[0] + commands[1] + b"DATA\r\n"
        # With several recipients, DATA waits for their replies: the content must not follow when the first is refused.
        expected.extend([Due.RCPT] * (len(commands) - 1))
        self._unsent.append((Due.DATA, b"DATA\r\n"))
        return b"".join(commands)

    def _on_refusal(self, reply: Reply, due: Due) -> None:
        """Of the sender or of a recipient. The first recipient decides what becomes of the message."""
        if reply.code < 400:
            raise ReplyUnreadable
        if due is _MAIL:
            self._refusal = (reply, Step.SENDER)
        elif self._refusal is None:
            if self._recipients_answered == 1:
                self._refusal = (reply, Step.RECIPIENT)
            elif self._envelope_of is not None:
                self._envelope_of.note += f" / copy {self._recipients_answered - 1} refused: {reply.text[:100]}"

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
        try:
            job.batch.going(job.index)
        except Withdrawn:
            self._envelope_of = None
            self._pool.withdraw(job)
            self.break_off(ConnectionAbortedError("The message was withdrawn."))
            return
        self._envelope_of, self._content_of = None, job
        data, tail = job.email.data if job.email.wire_safe else wire_form(job.email.data), job.email.tail
        self._expected.append(_FINAL)
        self._dot_written = False
        if len(data) + len(tail) > _ONE_WRITE:
            self._rest_of_content = deque(memoryview(piece) for piece in (data, tail, b".\r\n"))
            self._write_blocks()
            return
        self._dot_written = True
        self._write(b"".join((data, tail, b".\r\n", self._envelope_ahead())))
        self._wait(self._timeouts.final)

    def _envelope_ahead(self) -> bytes:
        if not self.features.pipelining or self._count >= self._most:
            return b""
        while (job := self._pool.job_ahead()) is not None:
            if group := self._open_envelope(job):
                return group
        return b""

    def _write_blocks(self) -> None:
        """A large message goes as fast as the server reads it. The final dot is in the last block."""
        rest = self._rest_of_content
        while rest and not self._paused and not self._ended:
            piece = rest.popleft()
            if len(piece) > _BLOCK:
                rest.appendleft(piece[_BLOCK:])
            if not rest:
                self._dot_written = True
            self._write(bytes(piece[:_BLOCK]))
        self._wait(self._timeouts.block if rest else self._timeouts.final)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._rest_of_content and not self._ended:
            self._write_blocks()

    def _on_final(self, reply: Reply) -> None:
        job = self._content_of
        if job is None or (reply.code < 400 and (reply.code >= 300 or not self._dot_written)):
            raise ReplyUnreadable
        self._content_of = None
        if reply.code < 300:
            job.finish(accepted(reply, self._latency(job), job.note))
        else:
            several = len(job.email.envelope_to) > 1
            job.finish(refused(reply, Step.CONTENT, self._latency(job), several_recipients=several))
        if not self._dot_written:
            self.break_off(ConnectionAbortedError("The server answered before it had the whole message."))
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

    def _latency(self, job: Job) -> int:
        return int((self._now() - job.started) * 1000)

    # Endings

    def quit(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._expected.append(Due.QUIT)
        self._write(b"QUIT\r\n")
        self._wait(_QUIT_SECONDS)
        self._pool.has_ended(self)

    def _on_silence(self) -> None:
        if self._expected or self._asked is not None:
            self.break_off(TimeoutError("The server did not answer in time."))
        else:
            self.quit()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._pool.is_gone(self)

    def _end_session(self, reply: Reply) -> None:
        """421 is about the session. The message it answers is deferred, any other goes over another connection."""
        due = self._expected[0] if self._expected else None
        if self._count == 1 and due in (Due.MAIL, Due.RCPT, Due.DATA):
            self._pool.was_turned_away(refused(reply, Step.SENDER, 0))
        if due is Due.FINAL and self._content_of is not None:
            job, self._content_of = self._content_of, None
            job.finish(refused(reply, Step.CONTENT, self._latency(job)))
        elif due in (Due.MAIL, Due.RCPT, Due.DATA) and self._envelope_of is not None:
            self._refusal = self._refusal or (reply, Step.SENDER)
            self._finish_refused()
        self.break_off(ConnectionAbortedError("The server ended the session."))

    def break_off(self, error: Exception) -> None:
        """Says what the end means for the messages on the line."""
        self._close(abort=True)
        self._expected.clear()
        if self._ended:
            return
        self._ended = True
        self._error = error
        self._wake()
        reason = reason_of(error)
        content_of, self._content_of = self._content_of, None
        if content_of is not None:
            content_of.finish(lost(reason, self._latency(content_of), in_doubt=self._dot_written))
        self._finish_refused()
        envelope_of, self._envelope_of = self._envelope_of, None
        if envelope_of is not None:
            if content_of is not None or reason is Why.CONNECTION:
                self._pool.give_back(envelope_of, reason)
            else:
                envelope_of.finish(lost(reason, self._latency(envelope_of), in_doubt=False))
        self._pool.has_ended(self)
