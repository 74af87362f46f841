"""The unit of work on PostgreSQL: a transaction in which row level security sees one tenant."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from waypost.adapters.postgres.connection import AWAY, Connection, EnteredTransaction, Pool, is_busy, is_lost
from waypost.adapters.postgres.held import Held
from waypost.adapters.postgres.queries import load
from waypost.kernel.errors import Unavailable
from waypost.kernel.work import Transaction

_SQL: Final = load("work")


class PgTransaction(Transaction):
    __slots__ = ("connection",)

    def __init__(self, tenant_id: str, connection: Connection) -> None:
        super().__init__(tenant_id)
        self.connection = connection


def connection_of(tx: Transaction) -> Connection:
    if not isinstance(tx, PgTransaction):
        raise TypeError("This transaction was not begun by PgWork.")
    return tx.connection


async def enter_tenant(connection: Connection, tenant_id: str) -> None:
    """From here on the transaction sees another tenant."""
    await connection.execute(_SQL["enter_tenant"], tenant_id)


class PgWork:
    """Implements `kernel.work.Work` over one pool, that is, as one database role."""

    def __init__(self, pool: Pool, *, acquire_timeout: float = 10.0) -> None:
        self._pool = pool
        self._acquire_timeout = acquire_timeout
        self._held = Held(pool)

    @asynccontextmanager
    async def begin(
        self, tenant_id: str, *, waits: bool = True, goes_on: Callable[[], bool] | None = None
    ) -> AsyncGenerator[PgTransaction]:
        """Commits when the block ends, rolls back when it raises. A busy or lost database becomes `Unavailable`."""
        connection = (None if waits else self._held.take(tenant_id)) or await self._acquire()
        holds = False
        try:
            transaction = connection.enter(tenant_id, waits=waits)
            tx = PgTransaction(tenant_id, connection)
            try:
                await transaction.start()
                yield tx
            except BaseException as error:
                with suppress(*AWAY):
                    await transaction.rollback()
                _raise_unavailable(error, connection)
                raise
            goes_on_here = goes_on is not None and goes_on() and self._held.has_room_for(tenant_id)
            await _commit(transaction, connection, goes_on=goes_on_here)
            holds = goes_on_here
            tx.announce()
        finally:
            if holds:
                self._held.keep(tenant_id, connection)
            else:
                # What was asked for has been answered by now: a connection that dies on its way home changes nothing.
                with suppress(*AWAY):
                    await self._pool.release(connection)

    @asynccontextmanager
    async def begin_unscoped(self) -> AsyncGenerator[PgTransaction]:
        """No tenant: only definer functions and tables that belong to no tenant answer."""
        async with self.begin("") as tx:
            yield tx

    async def _acquire(self) -> Connection:
        try:
            return await self._pool.acquire(timeout=self._acquire_timeout)
        except TimeoutError as error:
            raise Unavailable("The database is busy. Try again.") from error
        except AWAY as error:
            raise Unavailable("The database is unreachable. Try again.") from error


async def _commit(transaction: EnteredTransaction, connection: Connection, *, goes_on: bool) -> None:
    try:
        await transaction.commit(goes_on=goes_on)
    except Exception as error:
        if is_lost(error, connection):
            raise Unavailable(
                "The connection to the database was lost while saving, so the outcome is unknown. "
                "Repeat the request with the same Idempotency-Key.",
                code="retry_same_key",
            ) from error
        _raise_unavailable(error, connection)
        raise


def _raise_unavailable(error: BaseException, connection: Connection) -> None:
    if is_busy(error):
        raise Unavailable("The database is busy. Try again.") from error
    if is_lost(error, connection):
        raise Unavailable("The connection to the database was lost. Try again.") from error
