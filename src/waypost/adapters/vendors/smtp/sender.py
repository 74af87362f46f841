"""The way out by SMTP: many calls share one pool of connections to one server."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, cast

from waypost.adapters.vendors.smtp.jobs import Batch, Job
from waypost.adapters.vendors.smtp.options import Dial, SmtpOptions
from waypost.adapters.vendors.smtp.outcomes import SessionRefused, lost
from waypost.adapters.vendors.smtp.protocol import Connection
from waypost.adapters.vendors.smtp.session import Opener
from waypost.channels.model import Outcome, OutgoingEmail
from waypost.channels.model import OutcomeReason as Why
from waypost.channels.ports import Wire

_MOST_TRIES: Final = 3
_MOST_TURNED_AWAY: Final = 3
"""Sessions in a row that a server may end over their first message; then everything waiting is put off."""
_WITHDRAWN: Final = lost(Why.OTHER, 0, in_doubt=False, words="The message was withdrawn.")
_CLOSING: Final = lost(Why.CONNECTION, 0, in_doubt=False, words="The sender is closing.")


class SmtpSender:
    """Implements `channels.ports.EmailSender`. Connections are opened as messages need them and kept for a while.

    `dial` says which addresses stand for the server's name; without it the system is asked. `now` counts the seconds
    of a server's silence."""

    def __init__(
        self, options: SmtpOptions, *, dial: Dial | None = None, now: Callable[[], float] | None = None
    ) -> None:
        self._options = options
        self._opener = Opener(options, dial=dial, now=now)
        self._waiting: deque[Job] = deque()
        self._free: list[Connection] = []
        self._open: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._alive: set[Connection] = set()
        self._turned_away = 0
        self._closing = False
        self._all_gone = asyncio.Event()

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        if not messages:
            return []
        batch = Batch(messages, wire, asyncio.get_running_loop().create_future())
        for index, email in enumerate(messages):
            self._waiting.append(Job(batch, index, email))
        if self._closing:
            self._refuse_waiting(_CLOSING)
        self._start_waiting()
        try:
            await batch.done
        except asyncio.CancelledError:
            batch.abandoned = True
            raise
        return batch.outcomes()

    async def close(self) -> None:
        """Waits a little for answers to what is on the wire; what has not begun is answered as unreachable."""
        self._closing = True
        self._refuse_waiting(_CLOSING)
        for task in self._opening:
            task.cancel()
        for connection in list(self._free):
            connection.quit()
        self._free.clear()
        try:
            async with asyncio.timeout(self._options.timeouts.closing):
                while self._alive or self._opening:
                    self._all_gone.clear()
                    await self._all_gone.wait()
        except TimeoutError:
            for connection in list(self._alive):
                connection.break_off(TimeoutError("The sender was closed."))

    # What connections ask (`protocol.Pool`)

    def next_job(self) -> Job | None:
        while self._waiting:
            job = self._waiting.popleft()
            if not job.batch.abandoned:
                return job
        return None

    def job_ahead(self) -> Job | None:
        return self.next_job() if len(self._waiting) > len(self._free) + len(self._opening) else None

    def is_free(self, connection: Connection) -> None:
        if self._closing:
            connection.quit()
        else:
            self._free.append(connection)

    def give_back(self, job: Job, reason: Why) -> None:
        job.tries += 1
        if job.tries >= _MOST_TRIES or self._closing:
            job.finish(lost(reason, 0, in_doubt=False))
        else:
            self._waiting.appendleft(job)

    def withdraw(self, job: Job) -> None:
        job.finish(_WITHDRAWN)
        waiting, self._waiting = self._waiting, deque()
        for one in waiting:
            if one.batch is job.batch:
                one.finish(_WITHDRAWN)
            else:
                self._waiting.append(one)

    def was_turned_away(self, outcome: Outcome) -> None:
        self._turned_away += 1
        if self._turned_away >= _MOST_TURNED_AWAY:
            self._turned_away = 0
            self._refuse_waiting(outcome)

    def has_ended(self, connection: Connection) -> None:
        if connection.carried > 1:
            self._turned_away = 0
        if connection in self._free:
            self._free.remove(connection)
        if connection in self._open:
            self._open.discard(connection)
            self._start_waiting()

    def is_gone(self, connection: Connection) -> None:
        self._alive.discard(connection)
        self._all_gone.set()

    # Opening

    def _start_waiting(self) -> None:
        """Gives waiting jobs to free connections, and opens as many more as there are jobs left for."""
        while self._waiting and self._free:
            self._free.pop().take(self.next_job())
        if self._closing:
            return
        room = self._options.connections - len(self._open) - len(self._opening)
        for _ in range(min(room, len(self._waiting) - len(self._opening))):
            task = asyncio.get_running_loop().create_task(self._open_one())
            self._opening.add(task)
            task.add_done_callback(self._has_opened)

    async def _open_one(self) -> None:
        opened = await self._try_to_open()
        self._opening.discard(cast("asyncio.Task[None]", asyncio.current_task()))
        if isinstance(opened, Connection):
            self._open.add(opened)
            self._alive.add(opened)
            opened.begin(self.next_job())
        elif not self._open and not self._opening:
            # Nobody else is there to do the work: the last one to fail speaks for the server.
            self._refuse_waiting(opened)

    async def _try_to_open(self) -> Connection | Outcome:
        try:
            return await self._opener.open(self)
        except SessionRefused as refused:
            return refused.outcome

    def _has_opened(self, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        self._all_gone.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._refuse_waiting(lost(Why.OTHER, 0, in_doubt=False))
            asyncio.get_running_loop().call_exception_handler({"message": "A sender's own error", "exception": error})

    def _refuse_waiting(self, outcome: Outcome) -> None:
        while (job := self.next_job()) is not None:
            job.finish(outcome)
