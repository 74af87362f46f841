"""The typed face of asyncpg (it ships no types), and the one place where connections are opened."""

import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, Protocol, cast

import asyncpg

from waypost.kernel.errors import Misconfigured

OLDEST_SERVER: Final = 16
CONNECT_SECONDS: Final = 10.0


class Record(Protocol):
    """One row. Values have the types that asyncpg gives their columns."""

    def __getitem__(self, key: str | int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def get(self, key: str, default: object = None, /) -> Any: ...
    def keys(self) -> Iterator[str]: ...
    def values(self) -> Iterator[Any]: ...


class Prepared(Protocol):
    async def fetch(self, *args: object) -> list[Record]: ...
    async def fetchrow(self, *args: object) -> Record | None: ...
    async def fetchval(self, *args: object) -> Any: ...


class OpenTransaction(Protocol):
    async def start(self) -> None: ...
    async def commit(self) -> None: ...
    async def rollback(self) -> None: ...
    async def __aenter__(self) -> None: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class EnteredTransaction(Protocol):
    async def start(self) -> None: ...
    async def commit(self, *, goes_on: bool) -> None: ...
    async def rollback(self) -> None: ...


class ServerVersion(Protocol):
    @property
    def major(self) -> int: ...


class Connection(Protocol):
    async def execute(self, query: str, *args: object) -> str: ...
    async def executemany(self, command: str, args: Iterable[Sequence[object]]) -> None: ...
    async def fetch(self, query: str, *args: object) -> list[Record]: ...
    async def fetchrow(self, query: str, *args: object) -> Record | None: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...
    async def prepare(self, query: str) -> Prepared: ...
    def transaction(self) -> OpenTransaction: ...
    def enter(self, tenant_id: str, *, waits: bool) -> EnteredTransaction:
        """Only of a pool's connections, as the next: see `edges`."""
        ...

    async def forget_begun(self) -> None: ...

    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...
    def add_termination_listener(self, callback: Callable[..., None]) -> None: ...
    def get_server_version(self) -> ServerVersion: ...
    def is_closed(self) -> bool: ...
    def terminate(self) -> None: ...
    async def close(self) -> None: ...


class Acquired(Awaitable[Connection], AbstractAsyncContextManager[Connection], Protocol): ...


class Pool(Protocol):
    def acquire(self, *, timeout: float | None = None) -> Acquired: ...
    async def release(self, connection: Connection) -> None: ...
    async def close(self) -> None: ...
    def terminate(self) -> None: ...
    def get_size(self) -> int: ...
    def get_max_size(self) -> int: ...
    def get_idle_size(self) -> int: ...


_connect = cast("Callable[..., Coroutine[None, None, Connection]]", vars(asyncpg)["connect"])

# What can be wrong with the way to the database, in words that name the remedy and never the address or the password.
_UNREACHABLE: Final[tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...]] = (
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError),
        "The database refused the user or the password.",
    ),
    (asyncpg.InvalidCatalogNameError, "The database server has no database of that name."),
    (asyncpg.InsufficientPrivilegeError, "The user may not connect to this database."),
    (asyncpg.TooManyConnectionsError, "The database server has no connection left; raise its max_connections."),
    (asyncpg.CannotConnectNowError, "The database server is starting or stopping; try again in a moment."),
    (asyncpg.ClientConfigurationError, "The database URL cannot be read."),
    (ssl.SSLError, "The database's TLS certificate was refused."),
    (
        (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError),
        "The database server refused the connection.",
    ),
    (TimeoutError, "The database did not answer in time."),
    (OSError, "The database is unreachable: nothing answers at its address."),
    (ValueError, "The database URL cannot be read."),
)


AWAY: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # A server's farewell that crosses a new question leaves the driver in a state that it calls impossible.
    asyncpg.InternalClientError,
    OSError,
)
"""All that a database may answer with which is away, or on its way out. (A `TimeoutError` is an `OSError`.)"""


def explain_failure(error: BaseException) -> Misconfigured:
    for kinds, sentence in _UNREACHABLE:
        if isinstance(error, kinds):
            return Misconfigured(sentence, code="database_unreachable")
    raise error


async def connect(
    dsn: str, *, application_name: str, settings: Mapping[str, str] | None = None, kind: type | None = None
) -> Connection:
    """A connection of its own (migrations, LISTEN, administration). Failures are one line for the operator."""
    try:
        opened = await _connect(
            dsn,
            timeout=CONNECT_SECONDS,
            server_settings={"application_name": application_name, **(settings or {})},
            **({} if kind is None else {"connection_class": kind}),
        )
    except (*AWAY, ValueError) as error:
        raise explain_failure(error) from error
    if opened.get_server_version().major < OLDEST_SERVER:
        await opened.close()
        raise Misconfigured(
            f"PostgreSQL {OLDEST_SERVER} or newer is needed; the server is {opened.get_server_version().major}.",
            code="database_too_old",
        )
    return opened


_BUSY: Final = (
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InsufficientResourcesError,
    TimeoutError,
)
_LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InternalClientError,
    ConnectionError,
)


def is_lost(error: BaseException, connection: Connection) -> bool:
    """The connection is gone, and with it the answer to what was asked last."""
    return isinstance(error, _LOST) or (isinstance(error, asyncpg.InterfaceError) and _is_gone(connection))


def _is_gone(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        # The pool has taken back what the server ended.
        return True


def is_busy(error: BaseException) -> bool:
    """The server gave up on the transaction: nothing of it was kept, and trying again may work."""
    return isinstance(error, _BUSY) or _has_moved(error)


def _has_moved(error: BaseException) -> bool:
    """The row was on its way into a DEFAULT partition when its own was made. Such a bound is a check without a name."""
    return isinstance(error, asyncpg.CheckViolationError) and getattr(error, "constraint_name", None) is None
