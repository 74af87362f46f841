"""What a connection writes: the envelope of a message, its content in one piece or in blocks, and what undoes them.

What the server answers to it is heard by `protocol`.
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
from waypost.adapters.vendors.smtp.outcomes import Step
from waypost.adapters.vendors.smtp.replies import Reply
from waypost.channels.ports import Withdrawn

_ONE_WRITE: Final = 256 * 1024
_BLOCK: Final = 64 * 1024


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


class JobSource(Protocol):
    """What a writer asks of the pool."""

    def job_ahead(self) -> Job | None:
        """A job for after the present one, as long as nobody else is free to take it."""
        ...

    def withdraw(self, job: Job) -> None:
        """Neither it nor anything of its call that has not begun may go."""
        ...


class Writer(Line):
    def __init__(
        self, jobs: JobSource, options: SmtpOptions, loop: asyncio.AbstractEventLoop, now: Callable[[], float] | None
    ) -> None:
        super().__init__(options.timeouts, loop, now or loop.time)
        self._jobs = jobs
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

    def _send_content(self, job: Job) -> None:
        try:
            job.batch.going(job.index)
        except Withdrawn:
            self._envelope_of = None
            self._jobs.withdraw(job)
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
        while (job := self._jobs.job_ahead()) is not None:
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

    def _reset(self) -> None:
        self._unsent.clear()
        self._expected.append(Due.RSET)
        self._write(b"RSET\r\n")
        self._wait(self._timeouts.command)

    def _latency(self, job: Job) -> int:
        return int((self._now() - job.started) * 1000)
