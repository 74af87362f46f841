"""The other side of the wire, and the reference that fills it: Postfix's load tools where they are installed."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from waypost.bootstrap.ports import claim_port

CONNECTIONS = 20
_PATH = os.pathsep.join(("/usr/sbin", "/usr/local/sbin", os.environ.get("PATH", "")))


@dataclass(frozen=True, kw_only=True)
class Sink:
    """A mail server that takes everything and keeps nothing."""

    port: int
    pid: int
    program: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """The reference sender: the same size and connections, no queue, no records, no personal content."""

    program: str

    async def send(self, port: int, messages: int, size: int) -> float:
        """Seconds for all messages, connecting included."""
        begun = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*self._command(port, messages, size))
        if await process.wait() != 0:
            raise RuntimeError(f"{self.program} failed")
        return time.perf_counter() - begun

    def _command(self, port: int, messages: int, size: int) -> list[str]:
        if self.program == _OWN_SOURCE:
            return [sys.executable, "-m", "benchmarks.plain_source", str(port), str(messages), str(size)]
        words = f"-d -s {CONNECTIONS} -l {size} -m {messages} -f bench@example.com -t reader@example.net"
        return [self.program, *words.split(), f"127.0.0.1:{port}"]


_OWN_SOURCE = "benchmarks/plain_source.py"
_OWN_SINK = "benchmarks/plain_sink.py"


def find_source() -> Source:
    return Source(program=shutil.which("smtp-source", path=_PATH) or _OWN_SOURCE)


@contextmanager
def running_sink() -> Iterator[Sink]:
    port = free_port()
    program = shutil.which("smtp-sink", path=_PATH)
    if program is None:
        command = [sys.executable, "-m", "benchmarks.plain_sink", str(port)]
    else:
        # Under root it insists on giving up its rights.
        rights = ["-u", "nobody"] if os.getuid() == 0 else []
        command = [program, *rights, f"127.0.0.1:{port}", "1024"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield Sink(port=port, pid=process.pid, program=program or _OWN_SINK)
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    return claim_port("127.0.0.1", 0, "--port")


def short(program: str) -> str:
    return Path(program).name if program.startswith("/") else program


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the sink ended with code {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the sink does not listen")
