"""A file of people, from its first byte to the end of its job, against a bare COPY of the rows that it makes."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import BytesIO

from benchmarks.installation import TENANT, Installation, installed
from benchmarks.results import Findings, compared
from benchmarks.sample import address_of
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.jobs import join_job_runner
from waypost.imports.model import ImportOptions
from waypost.jobs.run import JobRunner
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint
from waypost.kernel.vault import place

_TABLES = ("recipients", "addresses")
_PIECE = 65_536
_FIRST_LINE = b"id,email,locale,timezone,first_name,city\n"


def _file(rows: int) -> bytes:
    lines = (
        f"user-{number},{address_of(number)},en-GB,Europe/London,Name{number},Town {number % 900}\n"
        for number in range(rows)
    )
    return _FIRST_LINE + "".join(lines).encode()


@asynccontextmanager
async def _runner(house: Installation) -> AsyncIterator[JobRunner]:
    """As a worker has it."""
    dsn = house.database.worker_url.reveal()
    options = PoolOptions(application_name="bench", max_size=2)
    pool, line = await open_pool(dsn, options), Line(dsn, options)
    keyring = PgKeyring(LocalVault(open_master_key(house.settings.master_key_path, create=False)))
    clock = SystemClock()
    try:
        yield join_job_runner(line=line, work=PgWork(pool), keyring=keyring, clock=clock, worker_id=mint(clock))
    finally:
        await line.close()
        await pool.close()


async def _import(house: Installation, runner: JobRunner, raw: bytes) -> float:
    scope = await house.app.access.authenticate(house.key, None, "rid_benchmark")
    begun = time.perf_counter()
    upload = await house.app.imports.open_upload(scope)
    for start in range(0, len(raw), _PIECE):
        await upload.feed(raw[start : start + _PIECE])
    await upload.close()
    async with house.app.work.begin(TENANT) as tx:
        job = await house.app.imports.start(tx, scope, upload, ImportOptions())
    await runner.work_off()
    seconds = time.perf_counter() - begun
    async with house.app.work.begin(TENANT) as tx:
        ended = await house.app.jobs.get(tx, scope, job.id)
    assert (ended.state.value, ended.result["created"]) == ("finished", raw.count(b"\n") - 1), ended
    return seconds


async def _copy(house: Installation) -> float:
    """The very rows that the import made, into the same tables with the same indexes, in one go."""
    dumped: dict[str, BytesIO] = {}
    for table in _TABLES:
        dumped[table] = BytesIO()
        await house.admin.copy_from_table(table, schema_name="waypost", output=dumped[table], format="binary")
        dumped[table].seek(0)
    await house.admin.execute("truncate waypost.recipients cascade")
    await house.admin.execute("checkpoint")
    # The check of a foreign key is planned once. Planned while the table is known to be empty it would read all of it,
    # or all of the tenant, for every row, for many minutes.
    await house.admin.execute("set enable_seqscan = off")
    await house.admin.execute("set enable_bitmapscan = off")
    begun = time.perf_counter()
    async with house.admin.transaction():
        for table in _TABLES:
            await house.admin.copy_to_table(table, schema_name="waypost", source=dumped[table], format="binary")
    seconds = time.perf_counter() - begun
    await house.admin.execute("truncate waypost.recipients cascade")
    await house.admin.execute("checkpoint")
    return seconds


def _sealing(house: Installation, rows: int) -> float:
    """Seconds for what sealing alone costs: a key made and wrapped, an address and attributes sealed, one hash."""
    vault = LocalVault(open_master_key(house.settings.master_key_path, create=False))
    key = vault.tenant_key(TENANT, vault.new_tenant_key(TENANT))
    person = mint(house.app.clock)
    attributes = b'{"first_name":"Name1","city":"Town 1"}'

    def one() -> None:
        _, data_key = key.new_data_key(place("data_key", TENANT, person))
        data_key.seal(b"someone@example.com", place("address", TENANT, person))
        data_key.seal(attributes, place("attributes", TENANT, person))
        key.hash_address("email", "someone@example.com")

    return _time(one, rows)


def _time(work: Callable[[], None], count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        work()
    return time.perf_counter() - begun


async def measure(*, quick: bool) -> Findings:
    rows, rounds = (10_000, 1) if quick else (100_000, 3)
    raw = _file(rows)
    ours: list[float] = []
    theirs: list[float] = []
    sealing: list[float] = []
    async with installed() as house, _runner(house) as runner:
        for _ in range(rounds):
            ours.append(rows / await _import(house, runner, raw))
            sealing.append(_sealing(house, min(rows, 20_000)) / min(rows, 20_000) * 1e6)
            theirs.append(rows / await _copy(house))
    entry = compared(
        name="imports",
        what=f"import of a CSV file of {rows:,} recipients, upload and sealing included",
        unit="rows/s",
        ours=ours,
        reference="COPY of the same rows into the same tables",
        theirs=theirs,
        goal="≥ 0.3",
        at_least=0.3,
    )
    share = sorted(sealing)[len(sealing) // 2]
    print(f"  sealing alone: {share:.1f} µs a row")
    return Findings([entry])
