"""A connection that says in one message what stands at each edge of a transaction.

The driver begins, then the tenant is set; it commits, then the pool resets the session: two round trips each, which is
a third of all that a small call takes. Here the tenant is set with BEGIN, and the session is reset with COMMIT, by the
very words that the driver's pool uses. After anything else than such a commit the pool resets as ever. And where the
same tenant goes on at once, its next transaction begins with the COMMIT of the one before.

And statements with arguments take turns: where two steps of one transaction run side by side, the driver would fail the
one that comes while the other's statement is on its way.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import asyncpg

from waypost.adapters.postgres.arrays import WholeArrays
from waypost.adapters.postgres.queries import load

_BEGIN: Final = "BEGIN;"
_COMMIT: Final = "COMMIT;"
_ROLLBACK: Final = "ROLLBACK;"
_SQL: Final = load("edges")
_PLACE: Final = "$tenant"
_TENANT: Final = re.compile(r"[a-z0-9_-]{0,63}\Z")
"""Nothing in it needs quoting."""

_Driver: Final = cast("type[Any]", vars(asyncpg)["Connection"])
_execute: Final = cast("Callable[..., Awaitable[str]]", vars(_Driver)["execute"])
_ask: Final = cast("Callable[..., Awaitable[Any]]", vars(_Driver)["_execute"])
_reset_query_of: Final = cast("Callable[[object], str]", vars(_Driver)["get_reset_query"])


class EdgeConnection(WholeArrays):
    __slots__ = ("_asking", "_begun", "_is_reset", "_turn")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._begun: str | None = None
        """The words with which a transaction has begun that nobody has entered yet."""
        self._is_reset = False
        self._turn = asyncio.Lock()
        self._asking = 0

    def enter(self, tenant_id: str, *, waits: bool) -> "EdgeTransaction":
        """A transaction in this tenant, to be started. One that does not wait for long fails where it would have to."""
        if not _TENANT.match(tenant_id):
            raise ValueError("That cannot be the id of a tenant.")
        how = "enter_at_begin" if waits else "enter_in_haste"
        return EdgeTransaction(self, _BEGIN + _SQL[how].replace(_PLACE, tenant_id))

    async def begin(self, words: str, transaction: "EdgeTransaction") -> None:
        begun, self._begun = self._begun, None
        if begun != words:
            await _execute(self, words if begun is None else _ROLLBACK + words)
        self._set_top(transaction)

    async def commit(self, next_words: str | None) -> None:
        self._set_top(None)
        if next_words is None:
            await _execute(self, _COMMIT + _reset_query_of(self))
            self._is_reset = True
        else:
            await _execute(self, _COMMIT + next_words)
            self._begun = next_words

    async def roll_back(self) -> None:
        self._set_top(None)
        await _execute(self, _ROLLBACK)

    async def forget_begun(self) -> None:
        """Nobody came for the transaction that has begun."""
        self._begun = None
        await _execute(self, _ROLLBACK + _reset_query_of(self))
        self._is_reset = True

    def _set_top(self, transaction: "EdgeTransaction | None") -> None:
        """Where the driver sees one, what it begins itself is a savepoint inside."""
        self._top_xact = transaction

    async def _execute(self, *args: Any, **options: Any) -> Any:
        self._asking += 1
        try:
            async with self._turn:
                answer = await _ask(self, *args, **options)
        finally:
            self._asking -= 1
        if self._asking:
            # Whoever waits for a turn asks first: then the database works while this answer is made use of.
            await asyncio.sleep(0)
        return answer

    def get_reset_query(self) -> str:
        """What the pool says on release: nothing after a commit that has said it."""
        self._begun = None
        is_reset, self._is_reset = self._is_reset, False
        return "" if is_reset else _reset_query_of(self)


class EdgeTransaction:
    """Begins and ends in one message each. The driver reads the two attributes of whatever is its outermost one."""

    __slots__ = ("_connection", "_is_open", "_isolation", "_managed", "_words")

    def __init__(self, connection: EdgeConnection, words: str) -> None:
        self._connection = connection
        self._words = words
        self._is_open = False
        self._isolation = None
        self._managed = False

    async def start(self) -> None:
        await self._connection.begin(self._words, self)
        self._is_open = True

    async def commit(self, *, goes_on: bool) -> None:
        """`goes_on`: another that is entered the same way is started on this connection next, if any."""
        self._is_open = False
        await self._connection.commit(self._words if goes_on else None)

    async def rollback(self) -> None:
        if self._is_open:
            self._is_open = False
            await self._connection.roll_back()
