"""Email end to end: claim, gate, open, personalise, send over SMTP, attempt and outbox row, settle; one worker process.

Accepting is outside the clock: everything is scheduled for one moment, and the clock runs from then until the last
settlement is in the database.
"""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.installation import Installation, installed, moment_after
from benchmarks.processes import children_of, cpu_of_tree, cpu_seconds
from benchmarks.results import Findings, Spread, Step, compared
from benchmarks.sinks import CONNECTIONS, Sink, Source, find_source, running_sink, short
from waypost.settings import Secret

_WARM_UP = 1_000


@dataclass
class _Rounds:
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    worker: list[float] = field(default_factory=list)
    render: list[float] = field(default_factory=list)
    sink: list[float] = field(default_factory=list)
    sink_of_reference: list[float] = field(default_factory=list)
    wal: list[float] = field(default_factory=list)


class _Course:
    def __init__(self, house: Installation, sink: Sink, source: Source, worker: int, messages: int) -> None:
        self._house = house
        self._sink = sink
        self._source = source
        self._worker = worker
        self._messages = messages
        self._accepted = 0
        self._accept_seconds = 0.0005
        self.rounds = _Rounds()
        self.size = 6_200

    async def warm_up(self) -> None:
        await self._house.accept(0, _WARM_UP)
        self._accepted = _WARM_UP
        await self._house.wait_until_settled()
        self.size = await _size_of_a_message(self._house)

    async def run_round(self, number: int) -> None:
        halves = [self._run_ours, self._run_theirs]
        for half in halves if number % 2 else reversed(halves):
            await half()

    async def _run_ours(self) -> None:
        count = self._messages
        begun = await self._accept(count)
        before = self._costs()
        wal = await self._wal()
        await asyncio.sleep(max((begun - datetime.now(UTC)).total_seconds(), 0))
        start = time.perf_counter()
        seconds = await self._house.wait_until_settled() - start
        costs = [(after - earlier) / count * 1e6 for after, earlier in zip(self._costs(), before, strict=True)]
        assert await self._house.dispatched() == self._accepted, "something was not sent"
        rounds = self.rounds
        rounds.ours.append(count / seconds)
        for kept, cost in zip((rounds.database, rounds.worker, rounds.render, rounds.sink), costs, strict=True):
            kept.append(cost)
        rounds.wal.append((await self._wal() - wal) / count)

    async def _run_theirs(self) -> None:
        before = cpu_seconds(self._sink.pid)
        seconds = await self._source.send(self._sink.port, self._messages, self.size)
        self.rounds.theirs.append(self._messages / seconds)
        self.rounds.sink_of_reference.append((cpu_seconds(self._sink.pid) - before) / self._messages * 1e6)

    async def _accept(self, count: int) -> datetime:
        """Scheduled for a moment when accepting has surely ended and the database has come to rest."""
        while True:
            due = moment_after(count * self._accept_seconds * 1.5 + 2)
            start = time.perf_counter()
            await self._house.accept(self._accepted, count, send_at=due)
            self._accepted += count
            self._accept_seconds = max(self._accept_seconds, (time.perf_counter() - start) / count)
            await self._house.admin.execute("checkpoint")
            if datetime.now(UTC) < due:
                return due
            await self._house.wait_until_settled()

    def _costs(self) -> tuple[float, float, float, float]:
        render = sum(cpu_of_tree(child) for child in children_of(self._worker))
        return self._house.database_cpu(), cpu_seconds(self._worker), render, cpu_seconds(self._sink.pid)

    async def _wal(self) -> int:
        return int(await self._house.admin.fetchval("select pg_current_wal_lsn() - '0/0'::pg_lsn"))


async def measure(*, quick: bool) -> Findings:
    messages, rounds = (500, 1) if quick else (20_000, 3)
    source = find_source()
    with running_sink() as sink:
        url = Secret(f"smtp://127.0.0.1:{sink.port}?tls=off")
        async with installed(smtp_url=url, smtp_connections=CONNECTIONS) as house:
            with house.process("waypost.workers") as worker:
                course = _Course(house, sink, source, worker.pid, messages)
                await course.warm_up()
                for number in range(rounds):
                    await course.run_round(number)
    return _findings(course, sink, source, messages)


def _findings(course: _Course, sink: Sink, source: Source, messages: int) -> Findings:
    rounds = course.rounds
    entry = compared(
        name="email",
        what=f"email end to end, one worker process, {messages:,} messages of {course.size:,} bytes",
        unit="messages/s",
        ours=rounds.ours,
        reference=f"{short(source.program)} to the same {short(sink.program)}, {CONNECTIONS} connections",
        theirs=rounds.theirs,
        goal="≥ 0.8, aiming at 1.0",
        at_least=0.8,
        notes=[f"{Spread.of(rounds.wal).middle:,.0f} bytes of WAL per message"],
    )
    steps = [
        Step("worker", Spread.of(rounds.worker).middle),
        Step("render process", Spread.of(rounds.render).middle),
        Step("PostgreSQL", Spread.of(rounds.database).middle),
        Step("mail server", Spread.of(rounds.sink).middle),
        Step("mail server, fed by the reference", Spread.of(rounds.sink_of_reference).middle),
    ]
    return Findings([entry], {"email end to end, CPU per message": steps})


async def _size_of_a_message(house: Installation) -> int:
    """As composed: the reference sends messages of the same size."""
    from benchmarks.composing import composed_sample

    return len(await composed_sample(house.app.clock))
