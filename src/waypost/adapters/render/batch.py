"""One call's jobs, answered whatever some of them do to the child.

Jobs nobody doubts go together to the main lane. When a child dies there, the progress page names the culprit; it
answers with a failure, and the rest of its version goes to the quarantine lane, while everything else simply runs
again: rendering has no effects. Slow content moves to the quarantine lane too.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from waypost.adapters.render import wire
from waypost.adapters.render.errand import Errand
from waypost.adapters.render.lane import Lane
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.process import ProcessLost, RenderProcess
from waypost.adapters.render.shelf import VersionKey
from waypost.adapters.render.suspicion import Suspicion
from waypost.templates.ports import RenderFailure, RenderJob

Result = TypeVar("Result")

_MOST_TOGETHER: Final = 500
_MOST_TOGETHER_IN_DOUBT: Final = 50

LOSSES: Final = {
    "timeout": RenderFailure(code="render_timeout", message="The content takes too long to render."),
    "crash": RenderFailure(code="render_failed", message="The content needs too much memory or nests too deeply."),
}
_GIVEN_UP: Final = RenderFailure(
    code="render_failed", message="Not rendered: too much time went into content of this tenant that fails or is slow."
)
_UNSENDABLE: Final = RenderFailure(
    code="render_failed", message="The data is too large, nests too deeply, or holds a number beyond 64 bits."
)


class Batch(Generic[Result]):
    def __init__(
        self,
        jobs: Sequence[RenderJob],
        errand: Errand[Result],
        *,
        main: Lane,
        quarantine: Lane,
        suspicion: Suspicion,
        limits: RenderLimits,
    ) -> None:
        self._jobs = jobs
        self._errand = errand
        self._main = main
        self._quarantine = quarantine
        self._suspicion = suspicion
        self._limits = limits
        self._answers: list[Result | RenderFailure | None] = [None] * len(jobs)
        self._doubtful: dict[VersionKey, list[int]] = {}
        self._spent: defaultdict[str, float] = defaultdict(float)

    async def run(self) -> list[Result | RenderFailure]:
        everything = list(range(len(self._jobs)))
        await self._work_through(self._main, _cut(everything, _MOST_TOGETHER), in_doubt=False)
        while self._doubtful:
            indexes = self._doubtful.pop(next(iter(self._doubtful)))
            chunks = _cut(indexes[1:], _MOST_TOGETHER_IN_DOUBT)
            chunks.appendleft(indexes[:1])
            await self._work_through(self._quarantine, chunks, in_doubt=True)
        return [_UNSENDABLE if answer is None else answer for answer in self._answers]

    async def _work_through(self, lane: Lane, chunks: deque[list[int]], *, in_doubt: bool) -> None:
        while chunks:
            chunk = self._without_given_up(chunks.popleft()) if in_doubt else self._without_doubtful(chunks.popleft())
            if not chunk:
                continue
            outcome = await self._ask(lane, chunk, in_doubt=in_doubt)
            if isinstance(outcome, ProcessLost):
                again = self._after_death(chunk, outcome, in_doubt=in_doubt)
            elif outcome is None:
                again = self._split(chunk)
            else:
                again = [chunk[outcome:]]
            chunks.extendleft(reversed(again))

    async def _ask(self, lane: Lane, chunk: list[int], *, in_doubt: bool) -> int | ProcessLost | None:
        """How many of the chunk's jobs are answered now; None where they cannot travel in one request."""
        jobs = [self._jobs[index] for index in chunk]

        async def exchange(child: RenderProcess) -> int | None:
            plan = child.shelf.plan(jobs)
            asked = list(zip(plan.slots, jobs, strict=True))
            try:
                request = wire.frame(self._errand.ask(plan, jobs))
            except (OverflowError, RecursionError, UnicodeEncodeError, TypeError):
                return None
            if len(request) > self._limits.request_bytes:
                return None
            child.shelf.commit(plan)
            for slot in plan.forget:
                child.frames.forget(slot)
            results: list[Result | RenderFailure] = []

            def take(part: memoryview) -> None:
                results.extend(self._errand.read_part(part, asked[len(results) :], child.frames))

            reply = await child.ask(request, take)
            toll, rest = self._errand.read(reply, asked[len(results) :], child.frames)
            results.extend(rest)
            child.worn = toll.worn
            for index, result in zip(chunk, results, strict=False):
                self._answers[index] = result
            self._take_note(chunk[: len(results)], toll, in_doubt=in_doubt)
            return len(results) or None

        try:
            return await lane.use(jobs[0].tenant_id, exchange)
        except ProcessLost as lost:
            return lost

    def _after_death(self, chunk: list[int], lost: ProcessLost, *, in_doubt: bool) -> list[list[int]]:
        """What of the chunk must be asked again, and how."""
        if lost.at is None and len(chunk) > 1:
            return self._split(chunk)
        culprit = chunk[min(lost.at or 0, len(chunk) - 1)]
        job = self._jobs[culprit]
        self._spent[job.tenant_id] += self._limits.item_cpu_seconds
        self._suspicion.blame(job.tenant_id, job.version_id, lost.kind)
        rest = [index for index in chunk if index != culprit]
        if lost.certain or (in_doubt and not rest):
            self._answers[culprit] = LOSSES[lost.kind]
            return [rest]
        # In the main lane the culprit is set aside together with its version when its turn comes.
        return [[culprit], rest]

    def _split(self, chunk: list[int]) -> list[list[int]]:
        if len(chunk) == 1:
            self._answers[chunk[0]] = _UNSENDABLE
            return []
        middle = len(chunk) // 2
        return [chunk[:middle], chunk[middle:]]

    def _take_note(self, answered: list[int], toll: wire.Toll, *, in_doubt: bool) -> None:
        slow = {self._key(answered[at]) for at in toll.slow if at < len(answered)}
        for key in slow:
            self._suspicion.set_apart(*key)
        for key in self._keys(answered) - slow:
            self._suspicion.trust(key)
        if in_doubt and answered:
            tenant_id, _ = self._key(answered[0])
            self._spent[tenant_id] += toll.cpu_seconds
            self._suspicion.acquit(tenant_id)

    def _without_doubtful(self, chunk: list[int]) -> list[int]:
        doubtful = {key for key in self._keys(chunk) if self._suspicion.doubts(key)}
        if not doubtful:
            return chunk
        trusted: list[int] = []
        for index in chunk:
            if (key := self._key(index)) in doubtful:
                self._doubtful.setdefault(key, []).append(index)
            else:
                trusted.append(index)
        return trusted

    def _without_given_up(self, chunk: list[int]) -> list[int]:
        tenant_id = self._jobs[chunk[0]].tenant_id if chunk else ""
        hopeless = self._suspicion.is_hopeless(tenant_id)
        limit = self._limits.hopeless_cpu_seconds if hopeless else self._limits.doubtful_cpu_seconds
        if self._spent[tenant_id] < limit:
            return chunk
        for index in chunk:
            self._answers[index] = _GIVEN_UP
        return []

    def _keys(self, indexes: list[int]) -> set[VersionKey]:
        """The versions of some jobs. Neighbours mostly share theirs, and looking an id up is not free."""
        keys, last = set[VersionKey](), None
        for index in indexes:
            job = self._jobs[index]
            if last is None or job.version_id is not last.version_id or job.tenant_id != last.tenant_id:
                keys.add((job.tenant_id, job.version_id))
                last = job
        return keys

    def _key(self, index: int) -> VersionKey:
        job = self._jobs[index]
        return (job.tenant_id, job.version_id)


def _cut(indexes: list[int], size: int) -> deque[list[int]]:
    return deque(indexes[start : start + size] for start in range(0, len(indexes), size))
