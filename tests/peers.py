"""Servers of other people that tests talk to: started for one test on a free port, skipped by name where missing."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from waypost.bootstrap.ports import claim_port

_PATIENCE: Final = 15.0
_SBIN: Final = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def free_port() -> int:
    return claim_port("127.0.0.1", 0, "--port")


def program(name: str) -> str:
    found = shutil.which(name, path=_SBIN)
    if found is None:
        pytest.skip(f"there is no {name} on this machine")
    return found


@asynccontextmanager
async def running(command: Sequence[str], port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """The server, once it listens; killed afterwards."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                assert process.returncode is None, f"{command[0]} ended with {process.returncode}"
                await asyncio.sleep(0.02)
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()


def redis_command(folder: Path, port: int) -> list[str]:
    return [
        program("redis-server"), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", "",
        "--appendonly", "no", "--daemonize", "no",
    ]  # fmt: skip


def nats_command(folder: Path, port: int) -> list[str]:
    return [program("nats-server"), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "jetstream")]


@pytest.fixture
async def redis_server(tmp_path: Path) -> AsyncIterator[str]:
    """The URL of an empty Redis of this test's own."""
    port = free_port()
    async with running(redis_command(tmp_path, port), port):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[str]:
    """The URL of a NATS server with JetStream and no streams, of this test's own."""
    port = free_port()
    async with running(nats_command(tmp_path, port), port):
        yield f"nats://127.0.0.1:{port}"
