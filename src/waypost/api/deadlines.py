"""Time limits of the same length for many things at once, with one timer for all of them.

Nearly everything ends in time, and a timer that is set and taken back for each costs more than to note when it must
end. Those that began first must end first, so only the first is watched.
"""

import asyncio
from types import TracebackType


class Deadlines:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.running: dict[Deadline, float] = {}
        """By the loop's clock, the earliest first."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self, deadline: "Deadline") -> None:
        loop = asyncio.get_running_loop()
        self.running[deadline] = ends = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_at(ends, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        while self.running:
            first, ends = next(iter(self.running.items()))
            if ends > now:
                self._timer = loop.call_at(ends, self._look, loop)
                return
            del self.running[first]
            first.expire()


class Deadline:
    """`with Deadline(deadlines):` does what `asyncio.timeout(deadlines.seconds)` would."""

    __slots__ = ("_all", "_cancelling", "_task", "expired")

    def __init__(self, deadlines: Deadlines) -> None:
        self._all = deadlines
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self.expired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A deadline is for something that runs in a task.")
        self._task = task
        self._cancelling = task.cancelling()
        self._all.start(self)

    def extend(self) -> None:
        """Begins anew."""
        if self._all.running.pop(self, None) is not None:
            self._all.start(self)

    def expire(self) -> None:
        self.expired = True
        if self._task is not None:
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.running.pop(self, None)
        task, self._task = self._task, None
        if not self.expired or task is None:
            return
        # Where somebody else wants the task to end as well, that is what counts.
        if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
