"""What a claim costs when much is queued, against the same claim when little is."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median

from benchmarks.installation import TENANT, Installation, installed
from benchmarks.results import Findings, compared
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.queries import load
from waypost.kernel.ids import mint

_SQL = load("dispatch")
_BATCH = 200

# Made as the road would leave them, but set-based: one person, many notifications, all due now. As with a broadcast,
# ids of one millisecond belong to one chunk of 500, and whoever comes later has the higher id.
_FILL = """
with person as (
    insert into waypost.recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
    values ($1, gen_random_uuid(), 'claimed', 'user', '\\x01', now(), now())
    on conflict (tenant_id, external_id) do update set updated_at = now() returning id
), ids as materialized (
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint + n / 500), 12, '0')
            || left(replace(gen_random_uuid()::text, '-', ''), 20))::uuid as id
    from generate_series(1, $2::integer) as n
), written as (
    insert into waypost.notifications (tenant_id, id, retention, request_id, recipient_id, channel, category, priority,
                                       status, gate, version_id, send_at, expires_at, payload)
    select $1, ids.id, 1, ids.id, person.id, 1, 1, 1, 2, 1, ids.id, now(), now() + interval '1 day',
           decode(repeat('ab', 160), 'hex')
    from ids, person
)
insert into waypost.queue (tenant_id, channel, priority, due, id, retention)
select $1, 1, 1, now(), ids.id, 1 from ids
"""
_WAKE = """
insert into waypost.lanes (tenant_id, channel, priority, due) values ($1, 1, 1, now())
on conflict (tenant_id, channel, priority) do update set due = now()
"""
_ENROL = """
insert into waypost.workers (id, host, pid, code, lease_until) values ($1, 'bench', 0, 0, now() + interval '1 hour')
"""


class _Worker:
    def __init__(self, house: Installation, line: Line) -> None:
        self._house = house
        self._line = line
        self._id = mint(house.app.clock)

    async def enrol(self) -> None:
        await self._house.admin.execute(_ENROL, self._id)

    async def claim(self) -> float:
        """Seconds; every row is checked to have come."""
        async with self._line.use() as connection:
            begun = time.perf_counter()
            rows = await connection.fetch(_SQL["claim"], self._id, mint(self._house.app.clock), _BATCH)
            seconds = time.perf_counter() - begun
        assert len(rows) == _BATCH, len(rows)
        return seconds


@asynccontextmanager
async def _with_queue_of(rows: int) -> AsyncIterator[_Worker]:
    async with installed() as house:
        for start in range(0, rows, 100_000):
            await house.admin.execute(_FILL, TENANT, min(100_000, rows - start))
        await house.admin.execute(_WAKE, TENANT)
        await house.admin.execute("vacuum analyze waypost.queue")
        await house.admin.execute("checkpoint")
        options = PoolOptions(application_name="bench", index_plans=True)
        line = Line(house.database.worker_url.reveal(), options)
        try:
            worker = _Worker(house, line)
            await worker.enrol()
            await worker.claim()
            yield worker
        finally:
            await line.close()


async def measure(*, quick: bool) -> Findings:
    small, large = (2_000, 4_000) if quick else (10_000, 5_000_000)
    rounds, claims = (2, 2) if quick else (6, 6)
    few: list[float] = []
    many: list[float] = []
    async with AsyncExitStack() as stack:
        with_few = await stack.enter_async_context(_with_queue_of(small))
        with_many = await stack.enter_async_context(_with_queue_of(large))
        for _ in range(rounds):
            pairs = [(await with_few.claim(), await with_many.claim()) for _ in range(claims)]
            few.append(median(pair[0] for pair in pairs) * 1e3)
            many.append(median(pair[1] for pair in pairs) * 1e3)
    entry = compared(
        name="claim",
        what=f"claim of {_BATCH} out of {large:,} queued",
        unit="ms",
        ours=many,
        reference=f"the same out of {small:,} queued",
        theirs=few,
        goal="≤ 1.3",
        at_most=1.3,
    )
    return Findings([entry])
