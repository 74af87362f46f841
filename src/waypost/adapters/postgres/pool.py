"""Connection pools, one per role. Every connection carries time-outs, and is reset before anybody else gets it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, cast

import asyncpg

from waypost.adapters.postgres.connection import AWAY, CONNECT_SECONDS, Pool, connect, explain_failure
from waypost.adapters.postgres.edges import EdgeConnection

_create_pool = cast("Callable[..., Awaitable[Pool]]", vars(asyncpg)["create_pool"])

# Plans must not depend on statistics: each worker statement is an index look-up, also on a table just emptied.
_INDEX_PLANS: Final = {"enable_hashjoin": "off", "enable_mergejoin": "off"}
_MOST_QUERIES: Final = 2_000_000
"""Before a connection is replaced. The driver's own limit is reached within a minute where there is much to do, and a
new connection has to plan everything anew while somebody waits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolOptions:
    """Time-outs are in seconds and end the statement, the wait for a lock, the idle or the whole transaction."""

    application_name: str
    min_size: int = 1
    max_size: int = 10
    statement_timeout: float = 30.0
    lock_timeout: float = 10.0
    idle_in_transaction_timeout: float = 30.0
    transaction_timeout: float = 60.0
    search_path: str = "waypost"
    """Another only where a rehearsal tells the time."""
    index_plans: bool = False
    """For the worker: forbid hash and merge joins."""


async def open_pool(dsn: str, options: PoolOptions) -> Pool:
    """Raises `Misconfigured`, in one line, when the server cannot be reached, refuses us or is too old."""
    probe = await connect(dsn, application_name=options.application_name)
    major = probe.get_server_version().major
    await probe.close()
    try:
        return await _create_pool(
            dsn,
            min_size=options.min_size,
            max_size=options.max_size,
            max_queries=_MOST_QUERIES,
            timeout=CONNECT_SECONDS,
            connection_class=EdgeConnection,
            server_settings=server_settings(options, major),
        )
    except AWAY as error:
        raise explain_failure(error) from error


def server_settings(options: PoolOptions, major: int) -> dict[str, str]:
    """Sent at connection start, so that the reset on release returns to them."""
    settings = {
        "application_name": options.application_name,
        "search_path": options.search_path,
        "jit": "off",
        # A call's statements are short and always the same: planning them anew would cost more than running them.
        "plan_cache_mode": "force_generic_plan",
        # The check of a foreign key is planned once per connection. Planned while a table is known to be small it would
        # read all of it for every row, and go on so while the table grows to a million.
        "enable_seqscan": "off",
        "statement_timeout": _milliseconds(options.statement_timeout),
        "lock_timeout": _milliseconds(options.lock_timeout),
        "idle_in_transaction_session_timeout": _milliseconds(options.idle_in_transaction_timeout),
    }
    if major >= 17:
        settings["transaction_timeout"] = _milliseconds(options.transaction_timeout)
    if options.index_plans:
        settings |= _INDEX_PLANS
    return settings


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))
