"""A child process that is started again whenever it dies, slower each time it dies young."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from waypost.bootstrap.process import SUPERVISED, complain
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
_GROWN_UP_SECONDS: Final = 10.0


class StartRefusedError(Exception):
    """The child said in its one line why it cannot run; starting it again would not help."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


class Process(Protocol):
    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    def kill(self) -> None: ...


Spawn = Callable[[str, Mapping[str, str]], Awaitable[Process]]
"""Starts a module with an environment, in a session of its own: the terminal's Ctrl-C is for the supervisor, which
tells the others when to stop. Its standard input stays open as long as the supervisor lives."""


async def spawn_afresh(module: str, environment: Mapping[str, str]) -> Process:
    """By a new interpreter."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module, SUPERVISED),
        stdin=asyncio.subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


class Child:
    def __init__(self, name: str, module: str, environment: Mapping[str, str], *, clock: Clock, spawn: Spawn) -> None:
        self.name = name
        self._module = module
        self._environment = environment
        self._clock = clock
        self._spawn = spawn
        self._process: Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        self._process = await self._spawn(self._module, self._environment)

    async def run_once(self) -> None:
        """Waits for a child that is meant to end."""
        if self._process is not None:
            await self._process.wait()

    async def keep_alive(self, changed: Callable[[], None]) -> None:
        """Starts it again whenever it ends, and says so to `changed`, until it is stopped.

        Raises `StartRefusedError` when the child says at its first start that it cannot run. Later on, whatever keeps
        it from running (a database that is just coming back, say) passes."""
        wait = _FIRST_WAIT
        first = True
        while self._process is not None:
            born = self._clock.monotonic()
            code = await self._process.wait()
            if self._stopping:
                return
            if first and code == Misconfigured.exit_code:
                raise StartRefusedError(code)
            first = False
            complain(f"The {self.name} ended unexpectedly ({_how(code)}); starting it again.")
            wait = _FIRST_WAIT if self._clock.monotonic() - born > _GROWN_UP_SECONDS else min(_LONGEST_WAIT, wait * 2)
            await self._clock.sleep(wait)
            if not self._stopping:
                await self.start()
                changed()

    async def stop(self, patience: float) -> None:
        """Lets it finish what it has begun, and ends it when its time is over."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(patience):
                await process.wait()
        except TimeoutError:
            complain(f"The {self.name} did not stop in time; ending it.")
            self.kill()
            await process.wait()

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


def _how(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
