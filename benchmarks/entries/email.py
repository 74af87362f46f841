"""Email end to end: claim, gate, open, personalise, track, send over SMTP, attempt and outbox row, settle.

Accepting is outside the clock: everything is scheduled for one moment, and the clock runs from then until the last
settlement is in the database. Measured with one worker process and with two, and signed by either kind of key.
"""

import asyncio
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.installation import Installation, installed, moment_after
from benchmarks.processes import children_of, cpu_of_tree, cpu_seconds, proportional_bytes
from benchmarks.results import Entry, Findings, Spread, Step, compared
from benchmarks.sinks import CONNECTIONS, Sink, Source, find_source, running_sink, short
from benchmarks.worker_steps import worker_steps
from waypost.settings import Secret

_WARM_UP = 1_000
_DOMAIN = "bench.example.com"
_SIGNED = f"Bench <news@{_DOMAIN}>"
_REMEMBERED = 6.0
"""Seconds after which a worker has noticed which key signs."""
_MEMORY_GOAL = 150_000_000
_DISTANCE = "from the bare harness to one worker process, CPU per message"
_BARE = {"worker": 45.0, "PostgreSQL": 14.0, "mail server": 47.0}
"""CPU per message of the bare harness that the design was measured with: claim, one template filled by the sender
itself, send, settle, with the same rows; no gate, nothing sealed, no tracking, no list headers, no log."""
_NOT_IN_BARE = {
    "sealed inputs": ("open the seals of key and inputs",),
    "links, list headers, marks, return path": (
        "unsubscribe link and list headers",
        "name the message to pixel and links",
        "return path",
    ),
    "metrics and log": ("metrics", "line of the log"),
}


@dataclass(frozen=True)
class _Variant:
    name: str
    words: str
    workers: int = 1
    key: str | None = None
    goal: str = ""
    at_least: float | None = None
    rounds: int = 1


_VARIANTS = (
    _Variant("email", "one worker process", goal="≥ 0.7, aiming at 1.0", at_least=0.7, rounds=9),
    _Variant("email, Ed25519", "one worker process, signed with Ed25519", key="ed25519"),
    _Variant("email, RSA-2048", "one worker process, signed with RSA-2048", key="rsa"),
    _Variant("email, two workers", "two worker processes", workers=2, rounds=2),
)


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
    memory: float = 0.0


class _Course:
    """The messages of all variants, one after the other, through the same installation."""

    def __init__(self, house: Installation, sink: Sink, source: Source, messages: int) -> None:
        self._house = house
        self._sink = sink
        self._source = source
        self._messages = messages
        self._accepted = 0
        self._accept_seconds = 0.0005
        self._reference_seconds = messages / 10_000
        self._sender: str | None = None
        self.workers: list[int] = []
        self.rounds = _Rounds()
        self.size = 6_200

    async def warm_up(self) -> None:
        await self._house.accept(self._accepted, _WARM_UP)
        self._accepted += _WARM_UP
        await self._house.wait_until_settled()
        self.size = await _size_of_a_message(self._house)

    async def run(self, variant: _Variant, rounds: int) -> _Rounds:
        self.rounds, self._sender = _Rounds(), _SIGNED if variant.key else None
        if variant.key:
            await self._house.sign_with(variant.key)
            await asyncio.sleep(_REMEMBERED)
        for _ in range(rounds):
            await self._run_round()
        self.rounds.memory = max(map(proportional_bytes, self.workers))
        return self.rounds

    async def _run_round(self) -> None:
        """The reference goes right before and right after, because a machine's own speed changes within seconds."""
        while True:
            due = await self._accept(self._messages)
            before = await self._run_theirs()
            if datetime.now(UTC) < due:
                break
            self._reference_seconds = before
            await self._house.wait_until_settled()
        await self._run_ours(due)
        self.rounds.theirs.append(2 * self._messages / (before + await self._run_theirs()))

    async def _run_ours(self, due: datetime) -> None:
        count = self._messages
        await asyncio.sleep(max((due - datetime.now(UTC)).total_seconds(), 0))
        start = time.perf_counter()
        before, wal = self._costs(), await self._wal()
        seconds = await self._house.wait_until_settled() - start
        costs = [(after - earlier) / count * 1e6 for after, earlier in zip(self._costs(), before, strict=True)]
        assert await self._house.dispatched() == self._accepted, "something was not sent"
        rounds = self.rounds
        rounds.ours.append(count / seconds)
        for kept, cost in zip((rounds.database, rounds.worker, rounds.render, rounds.sink), costs, strict=True):
            kept.append(cost)
        rounds.wal.append((await self._wal() - wal) / count)

    async def _run_theirs(self) -> float:
        before = cpu_seconds(self._sink.pid)
        seconds = await self._source.send(self._sink.port, self._messages, self.size)
        self.rounds.sink_of_reference.append((cpu_seconds(self._sink.pid) - before) / self._messages * 1e6)
        return seconds

    async def _accept(self, count: int) -> datetime:
        """Scheduled for a moment when accepting has surely ended, the database has come to rest, and the reference
        has been sent."""
        while True:
            due = moment_after(count * self._accept_seconds * 1.5 + 4 + 2 * self._reference_seconds)
            start = time.perf_counter()
            await self._house.accept(self._accepted, count, send_at=due, sender=self._sender)
            self._accepted += count
            self._accept_seconds = max(self._accept_seconds, (time.perf_counter() - start) / count)
            await self._house.come_to_rest()
            if datetime.now(UTC) < due:
                return due
            await self._house.wait_until_settled()

    def _costs(self) -> tuple[float, float, float, float]:
        render = sum(cpu_of_tree(child) for worker in self.workers for child in children_of(worker))
        worker = sum(map(cpu_seconds, self.workers))
        return self._house.database_cpu(), worker, render, cpu_seconds(self._sink.pid)

    async def _wal(self) -> int:
        return int(await self._house.admin.fetchval("select pg_current_wal_lsn() - '0/0'::pg_lsn"))


async def measure(*, quick: bool) -> Findings:
    messages = 300 if quick else 20_000
    source = find_source()
    entries: list[Entry] = []
    steps: dict[str, list[Step]] = {}
    with running_sink() as sink:
        url = Secret(f"smtp://127.0.0.1:{sink.port}?tls=off")
        async with installed(smtp_url=url, smtp_connections=CONNECTIONS) as house:
            await house.claim_domain(_DOMAIN)
            course = _Course(house, sink, source, messages)
            with ExitStack() as processes:
                for variant in _VARIANTS:
                    while len(course.workers) < variant.workers:
                        name = f"worker {len(course.workers) + 1}"
                        worker = processes.enter_context(house.process("waypost.workers", name=name))
                        course.workers.append(worker.pid)
                        await course.warm_up()
                    found = await course.run(variant, 1 if quick else variant.rounds)
                    entries += _entries(variant, found, course.size, sink, source, messages)
                    steps[f"{variant.name}, CPU per message"] = _steps(found)
    alone = worker_steps(200 if quick else 2_000)
    steps[_DISTANCE] = _distance(steps[f"{_VARIANTS[0].name}, CPU per message"], alone)
    steps["a message in the worker, step by step, each measured alone"] = alone
    return Findings(entries, steps)


def _entries(variant: _Variant, rounds: _Rounds, size: int, sink: Sink, source: Source, messages: int) -> list[Entry]:
    cpu = " + ".join(f"{step.microseconds:.0f}" for step in _steps(rounds)[:4])
    speed = compared(
        name=variant.name,
        what=f"email end to end, {variant.words}, {messages:,} messages of {size:,} bytes",
        unit="messages/s",
        ours=rounds.ours,
        reference=f"{short(source.program)} to the same {short(sink.program)}, {CONNECTIONS} connections",
        theirs=rounds.theirs,
        goal=variant.goal,
        at_least=variant.at_least,
        notes=[
            f"CPU per message: {cpu} µs (worker + render + PostgreSQL + mail server)",
            f"{Spread.of(rounds.wal).middle:,.0f} bytes of WAL per message",
        ],
    )
    if variant.at_least is None:
        return [speed]
    memory = Entry(
        name="email, memory",
        what="memory of a worker while it sends (PSS)",
        unit="MB",
        ours=Spread.of([rounds.memory / 1e6]),
        goal="under 150 MB",
        met=rounds.memory < _MEMORY_GOAL,
    )
    return [speed, memory]


def _steps(rounds: _Rounds) -> list[Step]:
    return [
        Step("worker", Spread.of(rounds.worker).middle),
        Step("render process", Spread.of(rounds.render).middle),
        Step("PostgreSQL", Spread.of(rounds.database).middle),
        Step("mail server", Spread.of(rounds.sink).middle),
        Step("mail server, fed by the reference", Spread.of(rounds.sink_of_reference).middle),
    ]


def _distance(ours: list[Step], alone: list[Step]) -> list[Step]:
    """From the bare harness to one worker process: what each thing adds that the harness did not do."""
    cost = {step.name: step.microseconds for step in ours}
    each = {step.name: step.microseconds for step in alone}
    more = [Step(f"+ {what}", sum(each[name] for name in names)) for what, names in _NOT_IN_BARE.items()]
    rest = cost["worker"] - _BARE["worker"] - sum(step.microseconds for step in more)
    return [
        Step("the bare harness, all processes", sum(_BARE.values())),
        *more,
        Step("+ the worker's rest: pauses, leases, journal, strict replies, values in two forms", rest),
        Step("+ the render process, asked only about a plain content's first message", cost["render process"]),
        Step("+ PostgreSQL: gate, keys, fair lanes, leases, chores", cost["PostgreSQL"] - _BARE["PostgreSQL"]),
        Step("+ the mail server, for longer messages", cost["mail server"] - _BARE["mail server"]),
        Step("= one worker process, all processes", sum(step.microseconds for step in ours[:4])),
    ]


async def _size_of_a_message(house: Installation) -> int:
    """As composed: the reference sends messages of the same size."""
    from benchmarks.composing import composed_sample

    return len(await composed_sample(house.app.clock))
