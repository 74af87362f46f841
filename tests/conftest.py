"""One PostgreSQL per test run, one database per test.

The server starts with the first test that asks for it and is shared by all xdist workers; the run's main process stops
it. Each test gets a copy of a migrated template database, with the roles and rights of a real installation.
"""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from tests.peers import nats_server, redis_server

from waypost.adapters.embedded.server import EmbeddedServer, end_leftover
from waypost.adapters.postgres.dsn import for_database, for_role
from waypost.adapters.postgres.migrate import migrate
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.provision import API, DBA, LOGIN_ROLES, OWNER, WORKER, provision
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import SystemClock, VirtualClock

__all__ = ["nats_server", "redis_server"]

# How long an example takes tells of the host's load, not of the code; pytest's time-out bounds each test.
settings.register_profile("waypost", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("waypost")

TEMPLATE: Final = "waypost_template"
PASSWORDS: Final = {role: f"password-of-{role}" for role in LOGIN_ROLES}
_RUN: Final = pytest.StashKey[Path]()
_START_AND_LEAVE: Final = """
import asyncio, json, os, pathlib, sys
from waypost.adapters.embedded.server import EmbeddedServer
server = EmbeddedServer(pathlib.Path(sys.argv[1]), settings=json.loads(sys.argv[2]))
print(asyncio.run(server.start()), end="", flush=True)
os._exit(0)
"""
_FAST: Final = {"fsync": "off", "full_page_writes": "off", "max_connections": "120", "autovacuum_naptime": "1min"}


def pytest_configure(config: pytest.Config) -> None:
    worker_input: dict[str, str] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        config.stash[_RUN] = Path(worker_input["waypost_run"])
        return
    _remove_runs_of_dead_processes()
    config.stash[_RUN] = Path(tempfile.mkdtemp(prefix=f"waypost-tests-{os.getpid()}-"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["waypost_run"] = str(node.config.stash[_RUN])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and _RUN in config.stash:
        _remove_run(config.stash[_RUN])


def _remove_runs_of_dead_processes() -> None:
    for run in Path(tempfile.gettempdir()).glob("waypost-tests-*-*"):
        with suppress(OSError, ValueError):
            pid = int(run.name.split("-")[2])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                _remove_run(run)


def _remove_run(run: Path) -> None:
    asyncio.run(end_leftover(run / "data" / "postgres", SystemClock()))
    shutil.rmtree(run, ignore_errors=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """The URLs of one test's database, by role. `admin` is the server's superuser."""

    name: str
    admin: str

    @property
    def owner(self) -> str:
        return for_role(self.admin, OWNER, PASSWORDS[OWNER])

    @property
    def api(self) -> str:
        return for_role(self.admin, API, PASSWORDS[API])

    @property
    def worker(self) -> str:
        return for_role(self.admin, WORKER, PASSWORDS[WORKER])

    @property
    def dba(self) -> str:
        return for_role(self.admin, DBA, PASSWORDS[DBA])


@contextmanager
def _one_at_a_time(run: Path) -> Iterator[None]:
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def database_server(request: pytest.FixtureRequest) -> str:
    """The superuser's URL of the run's server, where TEMPLATE is provisioned and migrated."""
    run = request.config.stash[_RUN]
    with _one_at_a_time(run):
        written = run / "dsn"
        if not written.exists():
            dsn = _start(run / "data")
            asyncio.run(_prepare_template(dsn))
            written.write_text(dsn)
        return written.read_text()


def _start(data_dir: Path) -> str:
    """Started by a process that ends at once: the server serves all workers, and the run's main process stops it."""
    started = subprocess.run(
        [sys.executable, "-c", _START_AND_LEAVE, data_dir, json.dumps(_FAST)], capture_output=True, text=True
    )
    if started.returncode != 0:
        raise RuntimeError(started.stderr)
    return started.stdout


async def _prepare_template(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"create database {TEMPLATE}")
    await connection.close()
    template = Database(name=TEMPLATE, admin=for_database(dsn, TEMPLATE))
    await provision(template.admin, PASSWORDS)
    await migrate(template.owner)


@pytest.fixture
def passwords() -> dict[str, str]:
    """Of the login roles on the run's server."""
    return dict(PASSWORDS)


@pytest.fixture
def new_data_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The data directory of an embedded server that was never used, for tests that need a server of their own."""
    run = request.config.stash[_RUN]
    with _one_at_a_time(run):
        if not (run / "new").exists():
            asyncio.run(_use_once(run / "making"))
            (run / "making").rename(run / "new")
    subprocess.run(["cp", "-a", run / "new", tmp_path / "data"], check=True)
    return tmp_path / "data"


async def _use_once(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir, settings=_FAST)
    await server.start()
    await server.stop()


@pytest.fixture
async def database(database_server: str) -> AsyncIterator[Database]:
    """A fresh migrated database of this test's own."""
    name = f"t_{uuid4().hex}"
    server = await asyncpg.connect(database_server)
    try:
        await server.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
        # Rights on a database are not copied with it.
        await server.execute(
            f"revoke create, temporary, connect on database {name} from public; grant connect on database {name} to "
            + ", ".join(LOGIN_ROLES)
        )
        yield Database(name=name, admin=for_database(database_server, name))
        await server.execute(f"drop database {name} with (force)")
    finally:
        await server.close()


@asynccontextmanager
async def _work(dsn: str, *, index_plans: bool) -> AsyncIterator[PgWork]:
    pool = await open_pool(dsn, PoolOptions(application_name="test", min_size=0, max_size=8, index_plans=index_plans))
    try:
        yield PgWork(pool)
    finally:
        pool.terminate()


@pytest.fixture
async def api_work(database: Database) -> AsyncIterator[PgWork]:
    async with _work(database.api, index_plans=False) as work:
        yield work


@pytest.fixture
async def worker_work(database: Database) -> AsyncIterator[PgWork]:
    async with _work(database.worker, index_plans=True) as work:
        yield work


@pytest.fixture
async def connect(database: Database) -> AsyncIterator[Callable[..., Awaitable[asyncpg.Connection]]]:
    """`await connect("api")`: a raw connection as admin, owner, api, worker or dba; closed after the test."""
    opened: list[asyncpg.Connection] = []

    async def open_one(role: str = "admin") -> asyncpg.Connection:
        dsn: str = getattr(database, role)
        opened.append(await asyncpg.connect(dsn, server_settings={"search_path": "waypost"}))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.terminate()


@pytest.fixture
async def admin(connect: Callable[..., Awaitable[asyncpg.Connection]]) -> asyncpg.Connection:
    """A superuser's connection: sees and may do everything, so use it to arrange and to look, never to prove rights."""
    return await connect("admin")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(scope="session")
def vault() -> LocalVault:
    return LocalVault(MasterKey(bytes(range(32))))


@pytest.fixture
async def make_tenant(admin: asyncpg.Connection, vault: LocalVault) -> Callable[..., Awaitable[str]]:
    """`await make_tenant("acme", mode="live", status="active")` inserts a tenant and returns its id."""

    async def make(
        tenant_id: str = "acme",
        *,
        mode: str = "sandbox",
        status: str = "active",
        wrapped_key: bytes | None = None,
    ) -> str:
        now = datetime.now(UTC)
        await admin.execute(
            "insert into waypost.tenants (id, name, mode, status, wrapped_key, created_at, updated_at)"
            " values ($1, $1, $2, $3, $4, $5, $5)",
            tenant_id,
            mode,
            status,
            vault.new_tenant_key(tenant_id) if wrapped_key is None else wrapped_key,
            now,
        )
        return tenant_id

    return make


@pytest.fixture
async def browser() -> AsyncIterator[Any]:
    """The system's Chromium, through playwright."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        await opened.close()
