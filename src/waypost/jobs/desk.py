"""Looking at jobs and cancelling them."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from waypost.jobs.model import Job, JobKind, JobState
from waypost.jobs.ports import JobStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound
from waypost.kernel.ids import show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

FILES_KEPT: Final = timedelta(days=7)
"""Reports of imports; a kind may keep its files for less."""
_LISTING: Final = "jobs"
_NEEDED: Final = {
    JobKind.IMPORT: Permission.RECIPIENTS_WRITE,
    JobKind.EXPORT: Permission.RECIPIENTS_EXPORT,
    JobKind.REDRIVE: Permission.OPERATIONS_WRITE,
}


class Jobs:
    def __init__(self, *, store: JobStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def get(self, tx: Transaction, scope: Scope, job_id: UUID, kind: JobKind | None = None) -> Job:
        scope.demand(Permission.RECIPIENTS_READ)
        job = await self._store.find(tx, job_id)
        if job is None or job.state is JobState.UPLOADING or (kind is not None and job.kind is not kind):
            raise NotFound("There is no job of this id.")
        return job

    async def page(
        self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None, *, kind: JobKind | None = None
    ) -> Page[Job]:
        """Newest first."""
        scope.demand(Permission.RECIPIENTS_READ)
        size = read_limit(limit)
        listing = f"{_LISTING}:{kind.value}" if kind else _LISTING
        found = await self._store.page(tx, kind, decode_id_cursor(listing, cursor), size + 1)
        return page_of(found, size, lambda job: encode_id_cursor(listing, job.id))

    async def cancel(self, tx: Transaction, scope: Scope, job_id: UUID) -> Job:
        """What was done stays done. Cancelling twice is as good as once; what has ended is refused."""
        job = await self.get(tx, scope, job_id)
        scope.demand(_NEEDED[job.kind])
        if job.state is JobState.CANCELLED:
            return job
        now = self._clock.now()
        asked = await self._store.ask_to_cancel(tx, job_id, now, now)
        if asked is None:
            raise Conflict("The job has ended already.", code="not_cancellable")
        await self._audit.record(tx, scope, "job.cancelled", show("job", job_id), {"kind": job.kind.value})
        return asked
