"""Starts processes by order of the supervisor and tells it of births and deaths.

First this is done by the nursery, which forks. Once everybody is born, and the copies of its memory have drifted apart
from it, the nursery becomes this file alone: the same process with the same children, and a tenth of the memory. Who
must be started again then is started by a new interpreter. For that it stands on the standard library only, and little
of it.
"""

import json
import os
import select
import signal
import socket
import sys
from typing import Any, Protocol

LONGEST_ORDER = 1_000_000
_STANDARD_INPUT = 0


class Bear(Protocol):
    def __call__(self, order: dict[str, Any], lifeline: int, ours: tuple[int, ...]) -> int:
        """The pid of the new process, which keeps `lifeline` and nothing that is `ours`."""
        ...


class Settle(Protocol):
    def __call__(self, channel: socket.socket) -> None: ...


def tend(channel: socket.socket, bear: Bear, settle: Settle) -> None:
    """Until the supervisor goes."""
    deaths, wakeup = os.pipe()
    os.set_blocking(deaths, False)
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake_up)
    _report_deaths(channel)
    while True:
        ready, _, _ = select.select([channel, deaths], [], [])
        if channel in ready:
            said, descriptors, _, _ = socket.recv_fds(channel, LONGEST_ORDER, 1, socket.MSG_CMSG_CLOEXEC)
            if not said:
                return
            if not descriptors:
                settle(channel)
                continue
            [lifeline] = descriptors
            pid = bear(json.loads(said), lifeline, (channel.fileno(), deaths, wakeup))
            os.close(lifeline)
            channel.send(json.dumps({"pid": pid}).encode())
        if deaths in ready:
            os.read(deaths, 4096)
            _report_deaths(channel)


def _wake_up(_number: int, _frame: object) -> None:
    """Python writes to the wake-up descriptor only for signals that have a handler."""


def _report_deaths(channel: socket.socket) -> None:
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            channel.send(json.dumps({"pid": pid, "code": os.waitstatus_to_exitcode(status)}).encode())
    except ChildProcessError:
        return


def _bear_afresh(order: dict[str, Any], lifeline: int, ours: tuple[int, ...]) -> int:
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", order["module"], order["argument"]],
        order["environment"],
        file_actions=[
            (os.POSIX_SPAWN_DUP2, lifeline, _STANDARD_INPUT),
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in ours),
        ],
        setsid=True,
    )


def _is_settled(channel: socket.socket) -> None:
    """Nothing is left to be given up."""


if __name__ == "__main__":
    tend(socket.socket(fileno=int(sys.argv[1])), _bear_afresh, _is_settled)
