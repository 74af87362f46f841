"""A deployment by hand, without `waypost up`: a named database, migrate, a platform key, API, worker, mail server."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.peers import free_port

from waypost.adapters.embedded.server import EmbeddedServer
from waypost.client import Client, Message

WAYPOST = str(Path(sys.executable).with_name("waypost"))


class Sink:
    """A mail server that remembers."""

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], str]] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.taken.append((envelope.rcpt_tos, bytes(envelope.content or b"").decode()))
        return "250 OK"


@pytest.fixture
def sink() -> Iterator[tuple[Sink, int]]:
    sink = Sink()
    port = free_port()
    controller = Controller(sink, hostname="127.0.0.1", port=port)
    controller.start()
    yield sink, port
    controller.stop()


@pytest.fixture
def database(fresh_dir: Path) -> Iterator[str]:
    server = EmbeddedServer(fresh_dir.parent / "server")
    with asyncio.Runner() as runner:
        yield runner.run(server.start())
        runner.run(server.stop())


@pytest.fixture
def processes() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(command: str, environment: dict[str, str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [WAYPOST, command], env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def test_live_mail_goes_out_and_sandbox_mail_nowhere(
    fresh_dir: Path, database: str, sink: tuple[Sink, int], processes
) -> None:
    mail_server, mail_port = sink
    api_port = free_port()
    environment = {
        "PATH": "/usr/bin:/bin",
        "WAYPOST_DATA_DIR": str(fresh_dir),
        "WAYPOST_DATABASE_URL": database,
        "WAYPOST_SMTP_URL": f"smtp://127.0.0.1:{mail_port}",
        "WAYPOST_PORT": str(api_port),
        "WAYPOST_LIVE_PORT": "0",
        "WAYPOST_METRICS_PORT": "0",
        "WAYPOST_WORKER_METRICS_PORT": "0",
        "WAYPOST_LOG_FORMAT": "json",
    }

    def shell(*words: str) -> str:
        done = subprocess.run([WAYPOST, *words], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    early = subprocess.run([WAYPOST, "api"], env=environment, capture_output=True, text=True, timeout=60)
    assert early.returncode == 78
    [line] = early.stderr.splitlines()
    assert "master.key is missing" in line

    assert "The database is ready" in shell("migrate")
    assert "The database is ready" in shell("migrate")
    platform_key = json.loads(shell("keys", "platform", "--json"))["secret"]
    api, worker = processes("api", environment), processes("worker", environment)

    async def send() -> tuple[str, str]:
        async with Client(f"http://127.0.0.1:{api_port}", platform_key) as platform:
            while not await platform.ready():  # noqa: ASYNC110 — another process gets ready
                await asyncio.sleep(0.02)
            for tenant, mode in (("real", "live"), ("trial", "sandbox")):
                await platform.tenants.create(tenant, name=tenant, mode=mode)
        ids = []
        for tenant in ("trial", "real"):
            async with Client(f"http://127.0.0.1:{api_port}", platform_key, tenant=tenant) as client:
                content = {"subject": f"From {tenant}", "text": "Hello"}
                sent = await client.notifications.send(Message(to={"email": f"{tenant}@example.com"}, content=content))
                ids.append(sent.notifications[0].id)
                async with asyncio.timeout(30):
                    while (await client.notifications.get(ids[-1])).status in ("queued", "dispatching"):  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
                ids[-1] = (await client.notifications.get(ids[-1])).status
        return ids[0], ids[1]

    assert asyncio.run(send()) == ("failed", "dispatched")
    assert [to for to, _ in mail_server.taken] == [["real@example.com"]]
    assert "Subject: From real" in mail_server.taken[0][1]

    for process in (worker, api):
        process.send_signal(signal.SIGTERM)
    for process in (worker, api):
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "example.com" not in errors
        assert platform_key not in errors
