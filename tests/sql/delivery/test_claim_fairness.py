"""Fair also when one tenant has queued far more than can leave: rows made in the database, time counted in batches."""

from typing import Any
from uuid import UUID

import asyncpg

from waypost.adapters.postgres.queries import load
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Priority

BACKLOG = 100_000
BATCH = 200
SLOW_WORKER = 200
"""Messages a second of a worker that is slower than any real one: a batch a second."""
_FILL = """
with ids as materialized (
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint + n / 500), 12, '0')
            || left(replace(gen_random_uuid()::text, '-', ''), 20))::uuid as id
    from generate_series(1, $1::integer) as n
), person as (
    insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
    values ('acme', gen_random_uuid(), 'many', 'user', 'k', now(), now()) returning id
), written as (
    insert into notifications (tenant_id, id, retention, request_id, recipient_id, channel, category, priority, status,
                               gate, version_id, send_at, expires_at, payload)
    select 'acme', ids.id, 1, ids.id, person.id, 1, 1, 0, 2, 1, ids.id, now(), now() + interval '1 day', ''
    from ids, person
)
insert into queue (tenant_id, channel, priority, due, id, retention) select 'acme', 1, 0, now(), ids.id, 1 from ids
"""
_QUEUE = load("queue")["lanes"]


async def flood(office: Any, rows: int = BACKLOG) -> None:
    await office.admin.execute(_FILL, rows)
    await office.admin.execute("insert into lanes (tenant_id, channel, priority, due) values ('acme', 1, 0, now())")


async def seconds_until_left(office: Any, *groups: set[UUID]) -> list[float]:
    """How long a worker that sends a batch a second would need until all of each group have left."""
    worker = await office.worker()
    claimed, left = 0, dict[int, float]()
    while len(left) < len(groups):
        assert claimed < 60 * SLOW_WORKER, f"after a minute {[len(group) for group in groups]} still wait"
        rows = await worker.store.claim(worker.id, mint(office.clock), BATCH)
        claimed += len(rows)
        for place, group in enumerate(groups):
            group -= {row.id for row in rows}
            if not group:
                left.setdefault(place, claimed / SLOW_WORKER)
    return [left[place] for place in range(len(groups))]


async def test_anothers_low_leaves_within_a_minute_of_a_flood_of_urgent_ones(office: Any) -> None:
    await office.make_tenant("other")
    await flood(office)
    worker = await office.worker()
    for _ in range(5):
        assert len(await worker.store.claim(worker.id, mint(office.clock), BATCH)) == BATCH
    low = await office.submit(20, tenant="other", priority=Priority.LOW)
    urgent = await office.submit(20, tenant="other", priority=Priority.URGENT)
    urgent_after, low_after = await seconds_until_left(office, set(urgent), set(low))
    assert urgent_after <= 2
    assert low_after <= 60


async def test_looking_at_a_full_queue_reads_no_more_than_it_counts(office: Any, connect: Any) -> None:
    await flood(office, 20_000)
    await office.submit(3)
    api: asyncpg.Connection = await connect("api")
    async with api.transaction():
        await api.execute("select set_config('app.tenant_id', 'acme', true)")
        lanes = await api.fetch(_QUEUE, "acme", 1_000)
        plan = "\n".join(
            row[0]
            for row in await api.fetch(f"explain (costs off) {_QUEUE}".replace("$1", "'acme'").replace("$2", "1000"))
        )
    assert [(row["priority"], row["waiting"], row["capped"]) for row in lanes] == [(0, 1_000, True), (1, 3, False)]
    assert "Seq Scan on queue" not in plan
    assert plan.count("queue_lane") >= 4
