"""What a claim costs when much is queued, against the same claim when little is; and whom a flood keeps waiting."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median

import asyncpg

from benchmarks.installation import TENANT, Installation, installed
from benchmarks.results import Entry, Findings, Spread, compared
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions
from waypost.adapters.postgres.queries import load
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Priority

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
    select $1, ids.id, 1, ids.id, person.id, 1, 1, $3, 2, 1, ids.id, now(), now() + interval '1 day',
           decode(repeat('ab', 160), 'hex')
    from ids, person
)
insert into waypost.queue (tenant_id, channel, priority, due, id, retention)
select $1, 1, $3, now(), ids.id, 1 from ids
"""
_WAKE = """
insert into waypost.lanes (tenant_id, channel, priority, due) values ($1, 1, $2, now())
on conflict (tenant_id, channel, priority) do update set due = now()
"""
_OTHER = "bench-other"
_MAKE_OTHER = """
insert into waypost.tenants (id, name, mode, status, wrapped_key, created_at, updated_at)
values ($1, $1, 'live', 'active', '\\x01', now(), now())
"""
_PACE = 100
"""Messages a second of a slow mail server: what is ahead of a message keeps it so long."""
_LONGEST_WAIT = 60.0
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
        begun = time.perf_counter()
        rows = await self._take()
        seconds = time.perf_counter() - begun
        assert len(rows) == _BATCH, len(rows)
        return seconds

    async def fill(self, tenant: str, priority: Priority, rows: int) -> None:
        for start in range(0, rows, 100_000):
            await self._house.admin.execute(_FILL, tenant, min(100_000, rows - start), priority)
        await self._house.admin.execute(_WAKE, tenant, priority)

    async def flood(self, urgent: int) -> int:
        """So much urgent work of one tenant; when some of it has gone, another tenant has one message of low priority.
        How many go before it?"""
        await self.fill(TENANT, Priority.URGENT, urgent)
        await self._house.admin.execute(_MAKE_OTHER, _OTHER)
        for _ in range(3):
            assert {row["priority"] for row in await self._take()} >= {Priority.URGENT}
        await self.fill(_OTHER, Priority.LOW, 1)
        ahead = 0
        while True:
            rows = await self._take()
            assert rows, "it never came"
            if any(row["tenant_id"] == _OTHER for row in rows):
                return ahead + len(rows) - 1
            ahead += len(rows)

    async def _take(self) -> "list[asyncpg.Record]":
        async with self._line.use() as connection:
            return await connection.fetch(_SQL["claim"], self._id, mint(self._house.app.clock), _BATCH)


@asynccontextmanager
async def _with_queue_of(rows: int) -> AsyncIterator[_Worker]:
    async with installed() as house:
        options = PoolOptions(application_name="bench", index_plans=True)
        line = Line(house.database.worker_url.reveal(), options)
        try:
            worker = _Worker(house, line)
            await worker.fill(TENANT, Priority.NORMAL, rows)
            await house.admin.execute("vacuum analyze waypost.queue")
            await house.admin.execute("checkpoint")
            await worker.enrol()
            await worker.claim()
            yield worker
        finally:
            await line.close()


async def measure(*, quick: bool) -> Findings:
    small, large, urgent = (2_000, 4_000, 2_000) if quick else (10_000, 5_000_000, 1_000_000)
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
        ahead = await with_many.flood(urgent)
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
    waited = ahead / _PACE
    fairness = Entry(
        name="claim, fairness",
        what=f"one low message of another tenant behind {urgent:,} urgent ones, leaving {_PACE} a second",
        unit="virtual s",
        ours=Spread.of([waited]),
        goal=f"≤ {_LONGEST_WAIT:.0f} virtual s",
        met=waited <= _LONGEST_WAIT,
        notes=[f"{ahead:,} messages went before it; {large + urgent:,} rows were queued"],
    )
    return Findings([entry, fairness])
