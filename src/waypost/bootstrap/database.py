"""The way to the database: which server, which role, which password."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

from waypost.adapters.embedded.server import EmbeddedServer
from waypost.adapters.postgres.connection import connect
from waypost.adapters.postgres.dsn import for_role
from waypost.adapters.postgres.migrate import migrate
from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.provision import API, DBA, LOGIN_ROLES, OWNER, WORKER, provision
from waypost.adapters.vault.masterkey import MasterKey, open_master_key
from waypost.bootstrap.data_dir import open_data_dir
from waypost.bootstrap.process import complain
from waypost.kernel.errors import Misconfigured
from waypost.settings import Secret, Settings

_FOREIGN: Final = "foreign_installation"


@dataclass(frozen=True, kw_only=True)
class Database:
    """A server that is ready: roles made, schema up to date."""

    administrator: Secret
    master: MasterKey
    embedded: EmbeddedServer | None

    def url(self, role: str) -> Secret:
        return Secret(for_role(self.administrator.reveal(), role, role_password(self.master, role)))

    @property
    def socket_directory(self) -> str | None:
        """Where the embedded server's socket lies."""
        hosts = parse_qs(urlsplit(self.administrator.reveal()).query).get("host")
        return hosts[0] if self.embedded is not None and hosts else None

    @property
    def api_url(self) -> Secret:
        return self.url(API)

    @property
    def worker_url(self) -> Secret:
        return self.url(WORKER)


def role_password(master: MasterKey, role: str) -> str:
    return master.derive(f"role/{role}")


@asynccontextmanager
async def run_database(settings: Settings) -> AsyncGenerator[Database]:
    """The database of `waypost up`: the embedded server, started and stopped here, or the one that is named."""
    if settings.database_url is not None:
        yield await _prepare(settings, settings.database_url, embedded=None)
        return
    server = EmbeddedServer(settings.data_dir)
    # A key made beside data that another key has sealed would only hide the loss.
    open_master_key(settings.master_key_path, create=not (settings.data_dir / "postgres").exists())
    administrator = Secret(await server.start())
    try:
        yield await _prepare(settings, administrator, embedded=server)
    finally:
        await server.stop()


async def prepare_named_database(settings: Settings) -> Database:
    """For `waypost migrate`: roles and schema on the server that WAYPOST_DATABASE_URL names."""
    if settings.database_url is None:
        raise Misconfigured("Set WAYPOST_DATABASE_URL. `waypost up` migrates its embedded server by itself.")
    open_data_dir(settings.data_dir)
    return await _prepare(settings, settings.database_url, embedded=None)


async def _prepare(settings: Settings, administrator: Secret, *, embedded: EmbeddedServer | None) -> Database:
    path = settings.master_key_path
    fresh = not path.exists()
    master = open_master_key(path, create=embedded is None)
    passwords = {role: role_password(master, role) for role in LOGIN_ROLES}
    try:
        await provision(administrator.reveal(), passwords)
    except Misconfigured as refusal:
        if fresh and refusal.code == _FOREIGN:
            path.unlink()
            raise Misconfigured(
                f"The database belongs to an installation whose master key is not at {path}. Put that key there.",
                code="master_key_missing",
            ) from refusal
        raise
    database = Database(administrator=administrator, master=master, embedded=embedded)
    await migrate(database.url(OWNER).reveal())
    await _make_partitions(database.url(OWNER).reveal())
    return database


async def _make_partitions(owner: str) -> None:
    connection = await connect(owner, application_name="waypost partitions")
    try:
        made = await ensure_partitions(connection)
    finally:
        await connection.close()
    for name, problem in made.problems.items():
        complain(f"The partition {name} could not be made: {problem}.")


def api_url(settings: Settings, master: MasterKey) -> str:
    return _role_url(settings, master, settings.database_api_url, API, "WAYPOST_DATABASE_API_URL")


def worker_url(settings: Settings, master: MasterKey) -> str:
    return _role_url(settings, master, settings.database_worker_url, WORKER, "WAYPOST_DATABASE_WORKER_URL")


def dba_url(settings: Settings, master: MasterKey, socket_directory: str | None) -> str:
    """For diagnosis: of the server that is named, or of the embedded one in its socket's directory."""
    if settings.database_url is not None:
        administrator = settings.database_url.reveal()
    else:
        directory = socket_directory or str(settings.data_dir / "postgres")
        administrator = f"postgresql:///postgres?host={quote(directory, safe='')}"
    return for_role(administrator, DBA, role_password(master, DBA))


def _role_url(settings: Settings, master: MasterKey, named: Secret | None, role: str, variable: str) -> str:
    if named is not None:
        return named.reveal()
    if settings.database_url is None:
        raise Misconfigured(f"Set {variable} or WAYPOST_DATABASE_URL, or run `waypost up` for an embedded server.")
    return for_role(settings.database_url.reveal(), role, role_password(master, role))
