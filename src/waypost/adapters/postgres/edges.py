"""A connection that says in one message what stands at each edge of a transaction.

The driver begins, then the tenant is set; it commits, then the pool resets the session: two round trips each, which is
a third of all that a small call takes. Here the tenant is set with BEGIN, and the session is reset with COMMIT, by the
very words that the driver's pool uses. After anything else than such a commit the pool resets as ever.

And statements with arguments take turns: where two steps of one transaction run side by side, the driver would fail the
one that comes while the other's statement is on its way.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import asyncpg

from waypost.adapters.postgres.arrays import use_whole_arrays
from waypost.adapters.postgres.queries import load

_BEGIN: Final = "BEGIN;"
_COMMIT: Final = "COMMIT;"
_SQL: Final = load("edges")
_PLACE: Final = "$tenant"
_TENANT: Final = re.compile(r"[a-z0-9_-]{0,63}\Z")
"""Nothing in it needs quoting."""

_Driver: Final = cast("type[Any]", vars(asyncpg)["Connection"])
_execute: Final = cast("Callable[..., Awaitable[str]]", vars(_Driver)["execute"])
_ask: Final = cast("Callable[..., Awaitable[Any]]", vars(_Driver)["_execute"])
_reset_query_of: Final = cast("Callable[[object], str]", vars(_Driver)["get_reset_query"])


class EdgeConnection(_Driver):
    __slots__ = ("_asking", "_entering", "_is_reset", "_turn")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # pyright: ignore[reportUnknownMemberType] - the driver has no types
        use_whole_arrays(self._protocol.get_settings())
        self._entering: str | None = None
        self._is_reset = False
        self._turn = asyncio.Lock()
        self._asking = 0

    def enter(self, tenant_id: str, *, waits: bool) -> None:
        """The next transaction begins in this tenant, and resets the session when it commits. One that does not wait
        for long fails where it would have to."""
        if not _TENANT.match(tenant_id):
            raise ValueError("That cannot be the id of a tenant.")
        how = "enter_at_begin" if waits else "enter_in_haste"
        self._entering = _BEGIN + _SQL[how].replace(_PLACE, tenant_id)

    async def execute(self, query: str, *args: object, **options: Any) -> str:
        if self._entering is None or query not in (_BEGIN, _COMMIT):
            return await _execute(self, query, *args, **options)
        if query == _BEGIN:
            return await _execute(self, self._entering, **options)
        self._entering = None
        said = await _execute(self, _COMMIT + _reset_query_of(self), **options)
        self._is_reset = True
        return said

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
        self._entering = None
        is_reset, self._is_reset = self._is_reset, False
        return "" if is_reset else _reset_query_of(self)
