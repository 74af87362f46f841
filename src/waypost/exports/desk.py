"""Asking for an export and fetching its file."""

from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

import msgspec

from waypost.exports.model import ExportKind, ExportSpec
from waypost.exports.steps import part_place, spec_place
from waypost.jobs.desk import Jobs
from waypost.jobs.model import Job, JobFile, JobKind, JobState
from waypost.jobs.ports import FileStore, JobStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction, Work
from waypost.recipients.lists import ListKeys
from waypost.tenants.audit import Audit

_GONE: Final = "The file of this export is gone. Make another one."


class Exports:
    def __init__(
        self,
        *,
        work: Work,
        store: JobStore,
        files: FileStore,
        jobs: Jobs,
        lists: ListKeys,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._work = work
        self._store = store
        self._files = files
        self._jobs = jobs
        self._lists = lists
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def start(self, tx: Transaction, scope: Scope, spec: ExportSpec) -> Job:
        scope.demand(Permission.RECIPIENTS_EXPORT)
        if spec.kind is ExportKind.SUPPRESSIONS and (spec.tag or spec.list_key):
            raise refuse("/kind", "invalid_filter", "Only recipients are exported by tag or list.")
        if spec.tag and spec.list_key:
            raise refuse("/list", "one_filter_only", "Give a tag or a list.")
        if spec.list_key is not None:
            await self._lists.id_of(tx, spec.list_key, "/list")
        now, job_id = self._clock.now(), mint(self._clock)
        key = await self._keyring.of(tx)
        job = Job(
            id=job_id,
            kind=JobKind.EXPORT,
            state=JobState.WAITING,
            spec=key.seal(msgspec.json.encode(spec), spec_place(tx, job_id)),
            place={},
            done=0,
            total=None,
            result={"kind": spec.kind.value},
            error=None,
            actor=show("key", scope.key_id),
            cancel_asked=False,
            created_at=now,
            started_at=None,
            finished_at=None,
            files_until=None,
            failures=0,
        )
        await self._store.add(tx, job)
        await self._audit.record(tx, scope, "export.started", show("job", job_id), {"kind": spec.kind.value})
        return job

    async def file(self, tx: Transaction, scope: Scope, job_id: UUID) -> AsyncIterator[bytes]:
        """Part by part, each read when the one before it has gone out."""
        scope.demand(Permission.RECIPIENTS_EXPORT)
        job = await self._jobs.get(tx, scope, job_id, JobKind.EXPORT)
        if job.state is not JobState.FINISHED:
            raise Conflict("The export has not finished.", code="not_finished")
        if await self._files.get(tx, job_id, JobFile.RESULT, 0) is None:
            raise NotFound(_GONE, code="file_gone")
        await self._audit.record(tx, scope, "export.downloaded", show("job", job_id), {})
        return self._parts(tx.tenant_id, job_id)

    async def _parts(self, tenant_id: str, job_id: UUID) -> AsyncIterator[bytes]:
        number = 0
        while True:
            async with self._work.begin(tenant_id) as tx:
                key = await self._keyring.of(tx)
                sealed = await self._files.get(tx, job_id, JobFile.RESULT, number)
                part = None if sealed is None else key.open(sealed, part_place(tx, job_id, number))
            if part is None:
                return
            yield part
            number += 1
