"""One connection: a message after the other, commands in groups where the server takes them so (RFC 2920).

While the content of a message is on its way the envelope of the next already follows it, so a message costs one round
trip. `_envelope_of` is the message whose commands are out, `_content_of` the one whose content is; the replies that are
still to come stand in `_expected`, and whatever does not fit them ends the connection.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from waypost.adapters.vendors.smtp.jobs import Job
from waypost.adapters.vendors.smtp.options import SmtpOptions
from waypost.adapters.vendors.smtp.outcomes import Step, accepted, lost, reason_of, refused
from waypost.adapters.vendors.smtp.replies import Reply, ReplyUnreadable
from waypost.adapters.vendors.smtp.writing import Due, JobSource, Writer
from waypost.channels.model import Outcome
from waypost.channels.model import OutcomeReason as Why

_QUIT_SECONDS: Final = 5.0
_MAIL, _RCPT, _DATA, _FINAL = Due.MAIL, Due.RCPT, Due.DATA, Due.FINAL


class Pool(JobSource, Protocol):
    """What a connection asks of the pool it belongs to."""

    def next_job(self) -> Job | None: ...

    def is_free(self, connection: "Connection") -> None: ...

    def give_back(self, job: Job, reason: Why) -> None:
        """Its content was never begun: another connection may take it."""
        ...

    def has_ended(self, connection: "Connection") -> None:
        """It takes no more jobs."""
        ...

    def is_gone(self, connection: "Connection") -> None: ...

    def was_turned_away(self, outcome: Outcome) -> None:
        """The server ended a session over its first message."""
        ...


class Connection(Writer):
    def __init__(
        self, pool: Pool, options: SmtpOptions, loop: asyncio.AbstractEventLoop, now: Callable[[], float] | None = None
    ) -> None:
        super().__init__(pool, options, loop, now)
        self._pool = pool

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

    def _proceed(self) -> None:
        if self._count >= self._most:
            self.quit()
        else:
            self.take(self._pool.next_job())

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
