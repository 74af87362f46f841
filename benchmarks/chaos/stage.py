"""A whole Waypost to break: an embedded database, one API, any number of workers, each a real process."""

import asyncio
import dataclasses
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID, uuid4

import asyncpg
import httpx
import psutil

from benchmarks.chaos.caller import Caller
from benchmarks.chaos.crash_points import VARIABLE as CRASH
from benchmarks.chaos.lossy_line import LossyLine
from benchmarks.chaos.recording import ROOT, RecordingSink
from waypost.adapters.embedded.server import EmbeddedServer
from waypost.bootstrap.household import make_platform_key
from waypost.bootstrap.ports import claim_port
from waypost.kernel.errors import Misconfigured
from waypost.kernel.tenancy import PLATFORM_ONLY, Permission
from waypost.settings import Secret, Settings

LEASE = 2.0
CONNECTIONS = 4
PATIENCE = 60.0
_LOOPBACK = "127.0.0.1"
_SCOPES = [permission.value for permission in Permission if permission not in PLATFORM_ONLY]
# The operating system outlives everything that is killed here.
_DATABASE = {"fsync": "off", "full_page_writes": "off"}
T = TypeVar("T")


class NotInTimeError(AssertionError):
    pass


def eventually(condition: Callable[[], T], what: str = "it", seconds: float = PATIENCE) -> T:
    """The first truthy answer. These are real processes: they take real time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise NotInTimeError(f"{what} did not happen in {seconds:g} s")
        time.sleep(0.02)
    return found


def _quiet_port() -> int:
    """One that no outgoing connection is ever given, so that nobody has it when the API comes back after a kill."""
    while True:
        with suppress(Misconfigured):
            return claim_port(_LOOPBACK, random.SystemRandom().randrange(20_000, 32_000), "")


class Running:
    """A process of ours."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.id: UUID | None = None
        """How a worker calls itself in the database."""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """No word of farewell."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


class Stage:
    def __init__(self, folder: Path) -> None:
        self.sink = RecordingSink()
        self.server = EmbeddedServer(folder, settings=_DATABASE)
        self._administrator = asyncio.run(self.server.start())
        port = _quiet_port()
        self.settings = Settings(
            data_dir=folder,
            port=port,
            metrics_port=0,
            live_port=0,
            worker_metrics_port=0,
            database_url=Secret(self._administrator),
            smtp_url=Secret(f"smtp://{_LOOPBACK}:{self.sink.port}?tls=off"),
            smtp_connections=CONNECTIONS,
            log_level="info",
            log_format="json",
        )
        self.url = self.settings.api_url
        self._platform_key = asyncio.run(make_platform_key(self.settings, "chaos"))
        self.workers: list[Running] = []
        self.api = self.start_api()

    def close(self) -> None:
        for worker in [*self.workers, self.api]:
            if worker.alive:
                worker.kill()
        asyncio.run(self.server.stop())
        self.sink.close()

    # Processes

    def start_api(self) -> Running:
        self.api = self._start("api", "waypost.api")
        self.wait_until_ready()
        return self.api

    def wait_until_ready(self) -> None:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=5) as http:
            eventually(lambda: self._answers(http), "an API that answers")

    def _answers(self, http: httpx.Client) -> bool:
        if not self.api.alive:
            raise AssertionError(f"the API ended: {self.log('api')[-2000:]}")
        with suppress(httpx.TransportError):
            return http.get("/readyz").status_code == 200
        return False

    def start_worker(
        self, *, lease: float = LEASE, skew: float = 0.0, wait: bool = True, crash: str = "", **settings: Any
    ) -> Running:
        """One more worker; `skew` is by how many seconds its host's clock is wrong, `crash` where it is to die."""
        worker = self._start(
            "worker",
            "benchmarks.chaos.odd_host",
            "waypost.workers",
            str(lease),
            str(skew),
            surroundings={CRASH: crash},
            **settings,
        )
        self.workers.append(worker)
        if wait:
            self.know(worker)
        return worker

    def start_crew(self, *, processes: int, **settings: Any) -> Running:
        """`waypost worker --processes N`."""
        return self._start("worker", "waypost.cli.supervisor.crew", processes=str(processes), lease=5.0, **settings)

    def crew_of(self, crew: Running) -> list[int]:
        """The processes of a crew that have signed on and are alive."""
        try:
            below = {process.pid for process in psutil.Process(crew.process.pid).children(recursive=True)}
        except psutil.NoSuchProcess:
            return []
        return [row["pid"] for row in self.query("select pid from waypost.workers order by id") if row["pid"] in below]

    def start_doomed_worker(self, crash: str, **settings: Any) -> Running:
        """A worker that has died at the named point by itself."""
        worker = self.start_worker(crash=crash, wait=False, **settings)
        eventually(lambda: not worker.alive, f"a death at {crash}")
        self.workers.remove(worker)
        worker.id = self.signed_on_as(worker)
        return worker

    def know(self, worker: Running) -> UUID:
        """Waits until a worker has signed on, and learns its name."""

        def look() -> UUID | None:
            if not worker.alive:
                raise AssertionError(f"the worker ended: {self.log('worker')[-2000:]}")
            return self.signed_on_as(worker)

        worker.id = eventually(look, "a worker that signs on")
        return worker.id

    def signed_on_as(self, worker: Running) -> UUID | None:
        found = self.query("select id from waypost.workers where pid = $1 order by id desc limit 1", worker.process.pid)
        return found[0]["id"] if found else None

    def stop_workers(self) -> None:
        for worker in self.workers:
            if worker.alive:
                worker.stop()
        self.workers.clear()

    def _start(
        self, name: str, *command: str, surroundings: Mapping[str, str] | None = None, **settings: Any
    ) -> Running:
        chosen = dataclasses.replace(self.settings, **settings)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        with self._log_file(name).open("ab") as log:
            return Running(
                subprocess.Popen(
                    [sys.executable, "-m", *command],
                    cwd=ROOT,
                    env={**environment, **chosen.environment(), **(surroundings or {})},
                    stderr=log,
                )
            )

    def _log_file(self, name: str) -> Path:
        return self.settings.data_dir / f"{name}.log"

    def log(self, name: str) -> str:
        return self._log_file(name).read_text(errors="replace")

    @property
    def journals(self) -> list[Path]:
        return sorted((self.settings.data_dir / "journal").glob("*.journal"))

    def children_of(self, running: Running) -> list[psutil.Process]:
        return psutil.Process(running.process.pid).children(recursive=True)

    # The database

    @property
    def postmaster(self) -> int:
        return int((self.settings.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])

    def stop_database(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: fast; SIGQUIT: immediate; SIGKILL: as if by accident, its children with it."""
        postmaster = psutil.Process(self.postmaster)
        doomed = [postmaster, *postmaster.children()]
        if how is signal.SIGKILL:
            postmaster.suspend()
            for process in doomed:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        else:
            postmaster.send_signal(how)
        asyncio.run(self.server.stop())
        psutil.wait_procs(doomed, timeout=PATIENCE)

    def start_database(self) -> None:
        asyncio.run(self.server.start())

    @contextmanager
    def lossy_line(self) -> Iterator[tuple[LossyLine, Secret]]:
        """Another way to the database, and the URL of who goes by it."""
        asked = parse_qs(urlsplit(self._administrator).query)
        [home], [port] = asked["host"], asked.get("port", ["5432"])
        name = f".s.PGSQL.{port}"
        with tempfile.TemporaryDirectory(prefix="wpl-") as folder:
            line = LossyLine(Path(folder) / name, Path(home) / name)
            try:
                yield line, Secret(self._administrator.replace(quote(home, safe=""), quote(folder, safe="")))
            finally:
                line.close()

    def query(self, statement: str, *arguments: object) -> list[Any]:
        """As the superuser: to look, and to hold things up."""

        async def ask() -> list[Any]:
            connection = await asyncpg.connect(self._administrator, timeout=PATIENCE)
            try:
                return await connection.fetch(statement, *arguments)
            finally:
                await connection.close()

        return asyncio.run(ask())

    def count(self, statement: str, *arguments: object) -> int:
        return self.query(statement, *arguments)[0][0]

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Nobody writes to the table meanwhile."""
        loop = asyncio.new_event_loop()
        connection = loop.run_until_complete(asyncpg.connect(self._administrator))
        try:
            loop.run_until_complete(connection.execute(f"begin; lock table waypost.{table} in exclusive mode"))
            yield
        finally:
            connection.terminate()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    def waits_for(self, table: str) -> bool:
        """Whether somebody waits for a lock on it."""
        return bool(
            self.query("select from pg_locks where relation = $1::regclass and not granted", f"waypost.{table}")
        )

    # People

    def caller(self, key: str) -> Caller:
        return Caller(self.url, key)

    def tenant(self, name: str | None = None) -> Caller:
        """A live tenant of its own, and somebody with its key."""
        tenant_id = name or f"t-{uuid4().hex[:12]}"
        with self.caller(self._platform_key) as platform:
            platform.ask("POST", "/v1/tenants", {"id": tenant_id, "name": tenant_id, "mode": "live"})
            body = {"tenant_id": tenant_id, "name": "chaos", "scopes": _SCOPES}
            secret = platform.ask("POST", "/v1/api-keys", body)["secret"]
        caller = self.caller(secret)
        caller.tenant_id = tenant_id
        # Its recipients are strangers, and its marketing must go out.
        caller.ask("PATCH", "/v1/settings", {"consent_policy": "implied"})
        return caller

    def retire_tenants(self) -> None:
        """Nothing that still waits for one of them is ever sent."""
        self.query("update waypost.tenants set status = 'suspended' where id <> '_platform'")

    def attempts(self, caller: Caller) -> list[Any]:
        """Every attempt of a tenant: notification, n, outcome, reason, worker."""
        return self.query(
            "select a.notification_id, a.n, a.outcome, a.reason, a.worker_id, m.category from waypost.attempts a"
            " join waypost.notifications m on m.tenant_id = a.tenant_id and m.id = a.notification_id"
            " where a.tenant_id = $1 order by a.notification_id, a.n",
            caller.tenant_id,
        )

    def hasten(self, tenants: Sequence[str]) -> None:
        """What waits to be tried again is due now, as if the time had passed."""
        for tenant_id in tenants:
            self.query("update waypost.queue set due = now() where tenant_id = $1 and due > now()", tenant_id)
            self.query(
                "update waypost.lanes set due = now(), head = '-infinity',"
                " head_id = '00000000-0000-0000-0000-000000000000' where tenant_id = $1",
                tenant_id,
            )


@contextmanager
def open_stage() -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="wpc-") as name:
        Path(name).chmod(0o755)
        stage = Stage(Path(name) / "d")
        try:
            yield stage
        finally:
            stage.close()
