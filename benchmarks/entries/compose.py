"""Rendering and composing in the render process, against the bare engine and the standard library, in this process."""

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from email.message import EmailMessage
from email.policy import SMTP

import minijinja

from benchmarks.composing import jobs, steering
from benchmarks.processes import children_of, cpu_of_tree, cpu_seconds
from benchmarks.results import Findings, Spread, Step, compared
from waypost.adapters.render.pool import RenderPool
from waypost.kernel.clock import SystemClock
from waypost.templates.model import Content
from waypost.templates.ports import RenderFailure, RenderJob

_BATCH = 200


class _Bare:
    """What the engine does alone: no process, no limits, nobody else's content."""

    def __init__(self, content: Content) -> None:
        self._engine = minijinja.Environment()
        self._engine.add_template("subject", content.subject)
        self._engine.add_template("html.html", content.html or "")
        self._engine.add_template("text", content.text or "")

    def render(self, job: RenderJob) -> tuple[str, str, str]:
        render, context = self._engine.render_template, job.context
        return render("subject", **context), render("html.html", **context), render("text", **context)

    def compose(self, job: RenderJob) -> bytes:
        subject, html, text = self.render(job)
        assert job.head is not None
        message = EmailMessage(policy=SMTP)
        message["Date"], message["From"], message["To"] = job.head.date, job.head.sender, job.head.to
        message["Subject"], message["Message-ID"] = subject, f"<{job.head.message_id}>"
        message.set_content(text, cte="quoted-printable")
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        return message.as_bytes()


class _Costs:
    """CPU per message of this process and of its children."""

    def __init__(self) -> None:
        self.here: list[float] = []
        self.there: list[float] = []
        self.rates: list[float] = []

    async def of(self, batches: int, work: Callable[[], Awaitable[Sequence[object]]]) -> None:
        before, begun = self._now(), time.perf_counter()
        for _ in range(batches):
            answers = await work()
            assert not any(isinstance(answer, RenderFailure) for answer in answers)
        seconds, after = time.perf_counter() - begun, self._now()
        count = batches * _BATCH
        self.rates.append(count / seconds)
        self.here.append((after[0] - before[0]) / count * 1e6)
        self.there.append((after[1] - before[1]) / count * 1e6)

    def _now(self) -> tuple[float, float]:
        children = sum(cpu_of_tree(child) for child in children_of(os.getpid()))
        return cpu_seconds(os.getpid()), children


async def measure(*, quick: bool) -> Findings:
    batches, rounds = (2, 1) if quick else (40, 5)
    slow = 1
    clock = SystemClock()
    plain = jobs(_BATCH, clock)
    work, pool = [steering(job) for job in plain], RenderPool(clock=clock)
    bare = _Bare(work[0].content)
    rendering, composing, engine, library, by_hand = _Costs(), _Costs(), _Costs(), _Costs(), _Costs()

    async def render_bare() -> Sequence[object]:
        return [bare.render(job) for job in work]

    async def compose_bare() -> Sequence[object]:
        return [bare.compose(job) for job in work]

    try:
        await pool.compose(work)
        await pool.render(work)
        await pool.compose(plain)
        for _ in range(rounds):
            await rendering.of(batches, lambda: pool.render(work))
            await engine.of(batches, render_bare)
            await composing.of(batches, lambda: pool.compose(work))
            await by_hand.of(batches, lambda: pool.compose(plain))
            await library.of(slow, compose_bare)
    finally:
        await pool.close()
    entries = [
        compared(
            name="render",
            what="render subject, HTML and text in the render process, batches of 200",
            unit="messages/s",
            ours=rendering.rates,
            reference="the bare engine in the same process",
            theirs=engine.rates,
            goal="≥ 0.4",
            at_least=0.4,
        ),
        compared(
            name="mime",
            what="compose whole messages in the render process, batches of 200",
            unit="messages/s",
            ours=composing.rates,
            reference="the bare engine and the standard library's email.message",
            theirs=library.rates,
            goal="≥ 1.0",
            at_least=1.0,
        ),
        compared(
            name="plain mime",
            what="compose whole messages of a content that only prints values, for which no process is asked",
            unit="messages/s",
            ours=by_hand.rates,
            reference="the bare engine and the standard library's email.message",
            theirs=library.rates,
        ),
    ]
    steps = [
        Step("compose, render process", Spread.of(composing.there).middle),
        Step("compose, asking process", Spread.of(composing.here).middle),
        Step("compose, where nobody is asked", Spread.of(by_hand.here).middle),
        Step("render, render process", Spread.of(rendering.there).middle),
        Step("render, asking process", Spread.of(rendering.here).middle),
        Step("bare engine", Spread.of(engine.here).middle),
        Step("bare engine and email.message", Spread.of(library.here).middle),
    ]
    return Findings(entries, {"rendering and composing, CPU per message": steps})
