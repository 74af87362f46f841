"""What a worker does about jobs: takes the one that waited longest, gives it a turn, and goes on to the next.

Each step is one transaction: its effect, its progress and the place where the next begins are kept together or not at
all. So whoever takes over from a worker that is gone begins exactly where the last step ended.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from waypost.jobs.desk import FILES_KEPT
from waypost.jobs.model import Job, JobFile, JobKind, JobState
from waypost.jobs.ports import FileStore, JobBoard, JobStore, Kinds
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable, WaypostError
from waypost.kernel.ids import show
from waypost.kernel.uncollected import uncollected
from waypost.kernel.work import Transaction, Work

_log: Final = structlog.stdlib.get_logger()
_LEASE: Final = 20.0
"""Seconds after which the job of a worker that died goes on elsewhere. A step may take longer: it holds its row."""
_TURN: Final = 5.0
"""Seconds that a job may go on before others have theirs."""
_MOST_FAILURES: Final = 5
_AT_ONCE: Final = 20
RESULTS_KEPT: Final = timedelta(hours=24)
_KEPT: Final = {JobKind.IMPORT: FILES_KEPT, JobKind.EXPORT: RESULTS_KEPT, JobKind.REDRIVE: timedelta(0)}


class JobRunner:
    def __init__(
        self,
        *,
        board: JobBoard,
        store: JobStore,
        files: FileStore,
        work: Work,
        kinds: Kinds,
        clock: Clock,
        worker_id: UUID,
    ) -> None:
        self._board = board
        self._store = store
        self._files = files
        self._work = work
        self._kinds = kinds
        self._clock = clock
        self._worker_id = worker_id

    async def work_off(self) -> int:
        """Turns, until nothing waits. Answers how many there were."""
        turns = 0
        while await self.turn():
            turns += 1
        return turns

    async def turn(self) -> bool:
        for tenant_id, job_id in await self._board.due(_AT_ONCE):
            async with self._work.begin(tenant_id) as tx:
                job = await self._store.take(tx, job_id, self._worker_id, _LEASE)
            if job is not None:
                return await self._serve(tenant_id, job)
        return False

    async def tidy(self) -> None:
        """Files past their time."""
        while due := await self._board.to_tidy(_AT_ONCE):
            for tenant_id, job_id in due:
                async with self._work.begin(tenant_id) as tx:
                    await self._files.drop(tx, job_id, *JobFile)
                    await self._store.tidy(tx, job_id)

    async def _serve(self, tenant_id: str, job: Job) -> bool:
        """False where it broke down: the next turn comes later."""
        until = self._clock.monotonic() + _TURN
        try:
            while await self._step(tenant_id, job):
                if self._clock.monotonic() >= until:
                    async with self._work.begin(tenant_id) as tx:
                        await self._store.give_back(tx, job.id, self._worker_id, failed=False)
                    return True
        except Unavailable:
            raise
        except WaypostError as refusal:
            await self._fail(tenant_id, job, refusal.detail)
        except Exception as error:
            _log.error("job step failed", action="job_step_failed", job=show("job", job.id), kind=type(error).__name__)
            if job.failures + 1 < _MOST_FAILURES:
                async with self._work.begin(tenant_id) as tx:
                    await self._store.give_back(tx, job.id, self._worker_id, failed=True)
                return False
            await self._fail(tenant_id, job, "Something broke on our side, again and again; the log knows more.")
        return True

    async def _step(self, tenant_id: str, taken: Job) -> bool:
        """One step of it; False where there is nothing more to do, or not for us."""
        steps = self._kinds[taken.kind]
        async with self._work.begin(tenant_id) as tx:
            job = await self._store.hold(tx, taken.id, self._worker_id, _LEASE)
            if job is None:
                return False
            if job.cancel_asked:
                await self._end(tx, job, JobState.CANCELLED, None)
                return False
            with uncollected():
                step = await steps.step(tx, job)
            await self._store.advance(tx, job.id, step)
            if step.is_last:
                await self._end(tx, job, JobState.FINISHED, None)
        return not step.is_last

    async def _fail(self, tenant_id: str, job: Job, error: str) -> None:
        async with self._work.begin(tenant_id) as tx:
            held = await self._store.hold(tx, job.id, self._worker_id, _LEASE)
            if held is not None:
                await self._end(tx, held, JobState.FAILED, error)

    async def _end(self, tx: Transaction, job: Job, state: JobState, error: str | None) -> None:
        await self._kinds[job.kind].end(tx, job)
        kept_until = self._clock.now() + _KEPT[job.kind]
        await self._store.end(tx, job.id, state, error, kept_until)
        _log.info("job ended", action="job_ended", job=show("job", job.id), kind=job.kind.value, state=state.value)
