"""Telling others what happened: unread news to a local consumer, against bare reads of the same rows."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import asyncpg
import msgspec

from benchmarks.installation import TENANT, Installation, installed, moment_after
from benchmarks.results import Findings, compared
from benchmarks.sinks import free_port
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.publishers.redis_streams import RedisStreams
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.outbound import guard_of, urls_of
from waypost.bootstrap.relay import relay_over
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Outgoing, Publisher
from waypost.outbox.relay import Relay
from waypost.outbox.webhook_model import Answer

_GOAL = 5_000
_SETTLED = 200
"""How many messages a worker settles at once, and so how much news is added by one statement."""
_READ = """
select o.id, o.at, o.kind, o.subject_id, o.n, m.request_id, m.recipient_id, r.external_id, m.channel, m.category,
       m.reason, m.send_at, m.expires_at, m.payload, r.data_key
from waypost.outbox o
join waypost.notifications m on m.tenant_id = o.tenant_id and m.id = o.subject_id
join waypost.recipients r on r.tenant_id = m.tenant_id and r.id = m.recipient_id
where o.tenant_id = $1 and o.id = any ($2::bigint[])
"""


class _Counter:
    """A consumer that takes everything and keeps the count."""

    name, reader = "counter", 9

    def __init__(self) -> None:
        self.taken = 0

    async def publish(self, events: Sequence[Outgoing]) -> Sequence[bool]:
        self.taken += len(events)
        return [True] * len(events)

    async def close(self) -> None: ...


class _Silent:
    def called(self, answers: Sequence[Answer]) -> None: ...

    def published(self, publisher: str, events: int, refused: int) -> None: ...

    def expanded(self, deliveries: int) -> None: ...

    def behind(self, waiting: object) -> None: ...


class _NoCaller:
    async def post(self, url: str, headers: object, body: bytes) -> Answer:
        raise AssertionError("nothing is called here")


def _relay(house: Installation, work: PgWork, publisher: Publisher) -> Relay:
    master = open_master_key(house.settings.master_key_path, create=False)
    return relay_over(
        work=work,
        vault=LocalVault(master),
        caller=_NoCaller(),
        urls=urls_of(house.settings, guard_of(house.settings)),
        publishers=[publisher],
        telemetry=_Silent(),
        clock=house.app.clock,
    )


async def _tell(work: PgWork, ids: Sequence[UUID]) -> None:
    """As a worker's settlement does: one statement for so many messages."""
    for start in range(0, len(ids), _SETTLED):
        async with work.begin(TENANT) as tx:
            kind = OutboxKind.NOTIFICATION_DISPATCHED
            await PgOutbox().append(tx, [News(kind=kind, subject_id=one, n=1) for one in ids[start : start + _SETTLED]])


async def _relayed(relay: Relay, events: int) -> float:
    """Events a second, until nothing is unread."""
    [publisher] = relay._publishers
    begun = time.perf_counter()
    while await relay.publish_round(publisher):
        pass
    return events / (time.perf_counter() - begun)


async def _read(reader: asyncpg.Connection, rows: Sequence[int]) -> float:
    """Rows a second: what the relay must read, read and thrown away."""
    begun = time.perf_counter()
    got = 0
    for start in range(0, len(rows), 2_000):
        got += len(await reader.fetch(_READ, TENANT, list(rows[start : start + 2_000])))
    assert got == len(rows), (got, len(rows))
    return got / (time.perf_counter() - begun)


@asynccontextmanager
async def _redis() -> AsyncIterator[Publisher | None]:
    program = shutil.which("redis-server")
    if program is None:
        yield None
        return
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="waypost-redis-") as folder:
        words = ["--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", "", "--appendonly", "no"]
        server = await asyncio.create_subprocess_exec(program, *words, stdout=asyncio.subprocess.DEVNULL)
        publisher = RedisStreams(f"redis://127.0.0.1:{port}/0")
        try:
            yield publisher
        finally:
            with suppress(Exception):
                await publisher.close()
            server.terminate()
            await server.wait()


async def measure(*, quick: bool) -> Findings:
    count, rounds = (400, 1) if quick else (20_000, 5)
    async with installed() as house, _redis() as redis:
        await house.accept(0, count, send_at=moment_after(3_600))
        ids = [row["id"] for row in await house.admin.fetch("select id from waypost.notifications")]
        options = PoolOptions(application_name="bench", index_plans=True, max_size=3)
        pool = await open_pool(house.database.worker_url.reveal(), options)
        reader = await asyncpg.connect(house.database.worker_url.reveal(), server_settings={"search_path": "waypost"})
        await reader.execute("select set_config('app.tenant_id', $1, false)", TENANT)
        work = PgWork(pool)
        entries = []
        for publisher, name, consumer in (
            (_Counter(), "relay", "a consumer in the same process"),
            (redis, "relay-redis", "a Redis stream on this machine"),
        ):
            if publisher is None:
                continue
            relay = _relay(house, work, publisher)
            await house.admin.execute("delete from waypost.publishers")
            await relay.register()
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(rounds):
                await house.admin.execute("truncate waypost.outbox")
                await _tell(work, ids)
                rows = [row["id"] for row in await house.admin.fetch("select id from waypost.outbox order by id")]
                theirs.append(await _read(reader, rows))
                ours.append(await _relayed(relay, len(rows)))
                assert await house.admin.fetchval("select count(*) from waypost.outbox_unread") == 0
            entry = compared(
                name=name,
                what=f"{count:,} unread events, opened, described, told in order to {consumer}",
                unit="events/s",
                ours=ours,
                reference="the same rows read by one connection and thrown away",
                theirs=theirs,
                goal=f"≥ {_GOAL:,} events/s",
            )
            # The goal is a rate; the ratio tells how much of it is the database's own.
            entries.append(msgspec.structs.replace(entry, met=entry.ours.middle >= _GOAL))
        await reader.close()
        pool.terminate()
    return Findings(entries)
