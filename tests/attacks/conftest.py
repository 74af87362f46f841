"""One real Waypost for the attacks: `waypost up` with its embedded database, two live tenants and a recording sink.

Whatever an attack sends about people carries the word HUSH. When the run is over, everything that was logged is
searched for it, PostgreSQL's log included.
"""

import asyncio
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import asyncpg
import httpx
import psutil
import pytest

from waypost.kernel.tenancy import PLATFORM_ONLY, Permission

HUSH = "hush"
PATIENCE = 60.0
TENANT_SCOPES = tuple(permission.value for permission in Permission if permission not in PLATFORM_ONLY)


_WATCH = """
import sys, time, threading, httpx
stopping = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stopping.set()), daemon=True).start()
client = httpx.Client(base_url=sys.argv[1], trust_env=False, timeout=30)
body = {"to": {"id": "meanwhile", "email": "meanwhile@hush.example"}, "content": {"subject": "s", "text": "t"}}
calls = [("GET", "/healthz", None, 200), ("POST", "/v1/notifications", body, 202)]
while True:
    for method, path, sent, expected in calls:
        began = time.monotonic()
        answer = client.request(method, path, json=sent, headers={"Authorization": f"Bearer {sys.argv[2]}"})
        assert answer.status_code == expected, answer.text
        print("ready" if not hasattr(client, "ready") else time.monotonic() - began, flush=True)
        client.ready = True
    if stopping.wait(0.2):
        break
"""


def neighbour(place: str) -> ModuleType:
    """Test folders are no packages; what others know, about starting Waypost or about bombs, is used here too."""
    name = f"waypost_tests_{place.replace('/', '_')}"
    if name not in sys.modules:
        path = Path(__file__).parent.parent / f"{place}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@dataclass(frozen=True, kw_only=True)
class Mail:
    sender: bytes
    people: tuple[bytes, ...]
    raw: bytes


class Sink:
    """A mail server on loopback that takes everything and keeps it byte for byte."""

    def __init__(self) -> None:
        self.mail: list[Mail] = []
        self.port = 0
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def close(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)

    def to(self, address: str) -> list[Mail]:
        wanted = f"<{address}>".encode()
        return [mail for mail in list(self.mail) if any(wanted in line for line in mail.people)]

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        server = self._loop.run_until_complete(asyncio.start_server(self._talk, "127.0.0.1", 0, limit=16 * 2**20))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 sink ESMTP\r\n")
        sender, people = b"", []
        try:
            while line := await reader.readline():
                verb = line[:4].upper()
                if verb == b"EHLO":
                    writer.write(b"250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n")
                elif verb == b"DATA":
                    writer.write(b"354 go on\r\n")
                    raw = await reader.readuntil(b"\r\n.\r\n")
                    self.mail.append(Mail(sender=sender, people=tuple(people), raw=raw))
                    writer.write(b"250 kept\r\n")
                    sender, people = b"", []
                elif verb == b"QUIT":
                    writer.write(b"221 bye\r\n")
                    break
                else:
                    sender = line if verb == b"MAIL" else sender
                    people += [line] if verb == b"RCPT" else []
                    writer.write(b"250 fine\r\n")
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@pytest.fixture(scope="session")
def sink() -> Iterator[Sink]:
    opened = Sink()
    yield opened
    opened.close()


class Listener:
    """A port on loopback that nobody has a reason to call. It notes who does."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._note, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _note(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.calls.append(connection.recv(200))


@pytest.fixture(scope="session")
def listener() -> Iterator[Listener]:
    opened = Listener()
    yield opened
    opened.close()


@dataclass(kw_only=True)
class Caller:
    """Somebody with a key, over real HTTP."""

    http: httpx.Client
    key: str
    tenant: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        sent = {"Authorization": f"Bearer {self.key}", **self.headers, **headers}
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        return self.http.request(method, path, content=content, headers=sent)

    def ok(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        answer = self(method, path, body, **headers)
        assert answer.is_success, (method, path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    def all(self, path: str) -> list[Any]:
        items: list[Any] = []
        cursor = ""
        while True:
            page = self.ok("GET", f"{path}{'&' if '?' in path else '?'}limit=100{cursor}")
            items += page["items"]
            if not page["next"]:
                return items
            cursor = f"&cursor={page['next']}"


def eventually(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """The first truthy answer of a condition. These are real processes: they take real time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


class Fortress:
    """The Waypost under attack."""

    eventually = staticmethod(eventually)

    def __init__(self, up: Any, sink: Sink) -> None:
        self.up = up
        self.sink = sink
        self.url: str = up.url
        self.http = httpx.Client(base_url=self.url, timeout=30, trust_env=False)
        self.secrets: list[str] = []
        self.platform = Caller(http=self.http, key=up.platform_key, tenant="_platform")
        self.openapi: dict[str, Any] = self.http.get("/openapi.json").json()

    @property
    def pids(self) -> dict[str, int]:
        return {name: number for name, number in self.up.status.items() if name in ("api", "worker")}

    @property
    def administrator(self) -> str:
        """The superuser's way into the embedded database: to break it, and to look."""
        password = (self.up.data_dir / "postgres.password").read_text().strip()
        host = quote(self.up.status["database_host"], safe="")
        return f"postgresql://postgres:{quote(password, safe='')}@/postgres?host={host}"

    def tenant(self, tenant_id: str, *, mode: str = "live") -> Caller:
        self.platform.ok("POST", "/v1/tenants", {"id": tenant_id, "name": tenant_id, "mode": mode})
        return self.key(tenant_id, *TENANT_SCOPES)

    def key(self, tenant_id: str, *scopes: str) -> Caller:
        body = {"tenant_id": tenant_id, "name": "attack", "scopes": list(scopes)}
        secret: str = self.platform.ok("POST", "/v1/api-keys", body)["secret"]
        self.secrets.append(secret)
        return Caller(http=self.http, key=secret, tenant=tenant_id)

    def prove(self, caller: Caller, name: str) -> dict[str, Any]:
        """A domain of the tenant's, as if its DNS records had been seen."""
        made = caller.ok("POST", "/v1/domains", {"name": name})

        async def believe() -> None:
            connection = await asyncpg.connect(self.administrator, server_settings={"search_path": "waypost"})
            try:
                await connection.execute(
                    "update domains set state = 'verified', verified_at = now(), next_check_at = 'infinity'"
                    " where name = $1",
                    name,
                )
                await connection.execute(
                    "update dkim_keys set state = 'active', found = true where domain_id ="
                    " (select id from domains where name = $1)",
                    name,
                )
            finally:
                await connection.close()

        asyncio.run(believe())
        # What was known of the tenant before is remembered for a few seconds.
        message = {"to": {"email": f"proved@{HUSH}.example"}, "content": {"subject": "s", "text": "t"}}
        eventually(lambda: caller("POST", "/v1/notifications", {**message, "from": f"a@{name}"}).status_code == 202)
        return made

    @contextmanager
    def unshaken(self) -> Iterator[None]:
        """The processes that were there before are there afterwards."""
        before = self.pids
        assert set(before) == {"api", "worker"}
        yield
        assert self.pids == before
        assert all(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in before.values())

    @contextmanager
    def watched(self, caller: Caller) -> Iterator[list[float]]:
        """How long each health probe and each send of somebody else took meanwhile, measured by another process."""
        watch = subprocess.Popen(
            [sys.executable, "-c", _WATCH, self.url, caller.key],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        waits: list[float] = []
        assert watch.stdout is not None
        assert watch.stdout.readline() == "ready\n"
        yield waits
        said, _ = watch.communicate("stop\n", PATIENCE)
        assert watch.returncode == 0
        waits += [float(line) for line in said.split()]

    @staticmethod
    def assert_served(waits: Sequence[float]) -> None:
        """Nobody waited for the end of the attack, and few noticed it at all: a busy machine stalls now and then."""
        slowest = sorted(waits)
        assert slowest[len(slowest) * 9 // 10] < 2.0 * max(1, os.getloadavg()[0] / (os.cpu_count() or 1)), slowest[-9:]
        assert slowest[-1] < 15, slowest[-9:]

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in self.openapi["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def is_platforms(self, operation: Mapping[str, Any]) -> bool:
        return bool({"tenants:manage", "tenants:act"} & set(operation.get("x-scopes", ())))


def traces(text: str, secrets: list[str]) -> list[str]:
    """Lines that tell of somebody, or of a secret."""
    private = re.compile("|".join([HUSH, *(re.escape(secret) for secret in secrets)]), re.I)
    return [line[:400] for line in text.splitlines() if private.search(line)]


@pytest.fixture(scope="session")
def bombs() -> dict[str, str]:
    """Templates that kill or stall whoever compiles or renders them."""
    return neighbour("unit/render/test_render_bombs").BOMBS


@pytest.fixture(scope="session")
def fortress(sink: Sink, listener: Listener) -> Iterator[Fortress]:
    proxy = f"http://127.0.0.1:{listener.port}"
    environment = {
        # Somebody's shell may have these; nothing of Waypost goes through them.
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), proxy),
        "WAYPOST_SMTP_URL": f"smtp://127.0.0.1:{sink.port}",
        "WAYPOST_LOG_LEVEL": "debug",
        "WAYPOST_LOG_FORMAT": "json",
    }
    with tempfile.TemporaryDirectory(prefix="wpa-") as name:
        Path(name).chmod(0o755)
        data_dir = Path(name) / "d"
        with neighbour("journeys/conftest").waypost_up(data_dir, environment=environment) as up:
            fortress = Fortress(up, sink)
            yield fortress
            pids = fortress.pids
            assert fortress.http.get("/healthz").status_code == 200
            fortress.http.close()
        up.process.stdout.close()
        logged = up.output + (data_dir / "postgres.log").read_text(errors="replace")
        assert '"action"' in logged, "a run that logs nothing proves nothing"
        assert "ended unexpectedly" not in logged, pids
        planted = [f"x jane@{HUSH}.example y", *(f"Bearer {secret}" for secret in fortress.secrets)]
        assert traces("\n".join(planted), fortress.secrets) == planted, "a search that cannot find proves nothing"
        assert traces(logged, fortress.secrets) == []
        assert listener.calls == []


@pytest.fixture(scope="session")
def wall_a(fortress: Fortress) -> Caller:
    return fortress.tenant("wall-a")


@pytest.fixture(scope="session")
def wall_b(fortress: Fortress) -> Caller:
    return fortress.tenant("wall-b")
