"""Where API and worker come from: a process forked before anything was opened, with everything heavy imported already.

What is forked from it shares its memory and starts in milliseconds. It opens nothing itself: no loop, no thread, no
connection, so a child inherits none. When all are born it gives its memory back (`warden`). It ends with the
supervisor.
"""

import asyncio
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from waypost.bootstrap.process import SUPERVISED
from waypost.cli.supervisor import warden
from waypost.kernel.errors import Unavailable

_SETTLE: Final = b"settle"
_LONGEST_TITLE: Final = 15
_OWN_NAME: Final = Path("/proc/self/comm")
_GONE: Final = 0
_STANDARD_INPUT: Final = 0


class Born:
    """A child of the nursery. Has the part of `asyncio.subprocess.Process` that `Child` needs."""

    def __init__(self, pid: int, lifeline: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._lifeline = lifeline
        self._ended = asyncio.Event()

    async def wait(self) -> int:
        await self._ended.wait()
        return self.returncode or 0

    def send_signal(self, number: int, /) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def has_ended(self, code: int) -> None:
        self.returncode = code
        os.close(self._lifeline)
        self._ended.set()


class Nursery:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._channel.settimeout(0)
        self._births: asyncio.Queue[int] = asyncio.Queue()
        self._alive: dict[int, Born] = {}
        self._early_deaths: dict[int, int] = {}
        """Heard of together with the birth, before whoever asked for the child has got it."""
        self._turn = asyncio.Lock()

    def listen(self) -> None:
        """From now on the running loop hears of births and deaths."""
        asyncio.get_running_loop().add_reader(self._channel, self._hear)

    def settle(self) -> None:
        """Everybody is born. Nothing more is forked: whoever is started again starts afresh."""
        with suppress(OSError):
            self._channel.send(_SETTLE)

    async def spawn(self, module: str, environment: Mapping[str, str]) -> Born:
        lifeline, ours = os.pipe()
        order = json.dumps({"module": module, "argument": SUPERVISED, "environment": dict(environment)}).encode()
        try:
            async with self._turn:
                socket.send_fds(self._channel, [order], [lifeline])
                pid = await self._births.get()
        except OSError:
            pid = _GONE
        finally:
            os.close(lifeline)
        if pid == _GONE:
            os.close(ours)
            raise Unavailable("The process that starts the others is gone. Run `waypost up` again.")
        born = self._alive[pid] = Born(pid, ours)
        if (code := self._early_deaths.pop(pid, None)) is not None:
            self._bury(pid, code)
        return born

    def _bury(self, pid: int, code: int) -> None:
        if (born := self._alive.pop(pid, None)) is None:
            self._early_deaths[pid] = code
        else:
            born.has_ended(code)

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            while said := self._channel.recv(warden.LONGEST_ORDER):
                news: dict[str, int] = json.loads(said)
                if "code" in news:
                    self._bury(news["pid"], news["code"])
                else:
                    self._births.put_nowait(news["pid"])
            # Nobody can tell any more how its children fare: take them for dead, and end them if they are not.
            asyncio.get_running_loop().remove_reader(self._channel)
            for born in list(self._alive.values()):
                with suppress(ProcessLookupError):
                    born.kill()
                born.has_ended(-signal.SIGKILL)
            self._alive.clear()
            self._births.put_nowait(_GONE)


def open_nursery(preload: Iterable[str]) -> Nursery:
    """Must be called while this process has no event loop, no threads and nothing open. The nursery imports what its
    children will share by itself: meanwhile the supervisor has a database to start."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # What the collector never looks at again stays shared.
    gc.collect()
    gc.freeze()
    if os.fork() == 0:
        ours.close()
        _tend(theirs, preload)
    theirs.close()
    return Nursery(ours)


def _tend(channel: socket.socket, preload: Iterable[str]) -> NoReturn:
    os.setsid()
    _entitle("nursery")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = 1
    try:
        for name in preload:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()
        warden.tend(channel, _bear, _become_warden)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _bear(order: dict[str, Any], lifeline: int, ours: tuple[int, ...]) -> int:
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        for descriptor in ours:
            os.close(descriptor)
        _live(**order, lifeline=lifeline)
    return pid


def _become_warden(channel: socket.socket) -> None:
    """Goes on as another program, with the same children, the same channel and none of the memory."""
    channel.set_inheritable(True)
    program = [sys.executable, "-s", "-S", "-P", warden.__file__, str(channel.fileno())]
    os.execv(program[0], program)  # noqa: S606 — our own interpreter


def _live(module: str, argument: str, environment: Mapping[str, str], lifeline: int) -> NoReturn:
    """Becomes what `python -m module argument` would have been."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        os.dup2(lifeline, _STANDARD_INPUT)
        os.close(lifeline)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [module, argument]
        _entitle(module.rpartition(".")[2])
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _entitle(title: str) -> None:
    """What `ps` and `top` call the process."""
    with suppress(OSError):
        _OWN_NAME.write_text(f"waypost {title}"[:_LONGEST_TITLE], encoding="ascii")
