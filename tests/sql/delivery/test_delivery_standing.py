"""How the installation stands: sums over all tenants, without a word about any."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.upkeep import PgUpkeep
from waypost.kernel.vocabulary import Channel, Priority


async def test_what_waits_is_added_up_over_tenants(
    admin: Any, database: Any, make_tenant: Callable[..., Awaitable[str]]
) -> None:
    now = datetime.now(UTC)
    for tenant, late in (("acme", 90), ("globex", 30)):
        await make_tenant(tenant)
        due = now - timedelta(seconds=late)
        await admin.execute(
            "insert into waypost.lanes (tenant_id, channel, priority, due)"
            " values ($1, 1, 0, $2), ($1, 1, 2, 'infinity')",
            tenant,
            due,
        )
        await admin.executemany(
            "insert into waypost.queue (tenant_id, channel, priority, due, id, retention) values ($1, 1, 0, $2, $3, 1)",
            [(tenant, due, uuid4()) for _ in range(3)],
        )
    line = Line(database.worker, PoolOptions(application_name="standing", index_plans=True))
    try:
        standing = await PgUpkeep(line).standing()
    finally:
        await line.close()
    [waiting] = standing.waiting
    assert (waiting.channel, waiting.priority, waiting.rows) == (Channel.EMAIL, Priority.URGENT, 6)
    assert 89 < waiting.oldest_seconds < 120
    assert (standing.workers_alive, standing.stray_rows) == (0, 0)
