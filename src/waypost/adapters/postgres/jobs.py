"""Jobs and their files on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.jobs.model import Job, JobFile, JobKind, JobState, Step
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.work import Transaction

_SQL: Final = load("jobs")


class PgJobStore:
    """Implements `jobs.ports.JobStore`."""

    async def add(self, tx: Transaction, job: Job) -> None:
        await connection_of(tx).execute(
            _SQL["add_job"],
            tx.tenant_id,
            job.id,
            job.kind.value,
            job.state.value,
            job.spec,
            _json(job.place),
            job.done,
            job.total,
            job.actor,
            job.created_at,
            job.files_until,
        )

    async def find(self, tx: Transaction, job_id: UUID) -> Job | None:
        return _maybe(await connection_of(tx).fetchrow(_SQL["find_job"], tx.tenant_id, job_id))

    async def page(self, tx: Transaction, kind: JobKind | None, before: UUID | None, limit: int) -> Sequence[Job]:
        word = kind.value if kind else None
        rows = await connection_of(tx).fetch(_SQL["page_of_jobs"], tx.tenant_id, word, before, limit)
        return [_job(row) for row in rows]

    async def begin_waiting(
        self, tx: Transaction, job_id: UUID, spec: bytes, place: JsonObject, total: int, now: datetime
    ) -> None:
        await connection_of(tx).execute(_SQL["begin_waiting"], tx.tenant_id, job_id, spec, _json(place), total, now)

    async def ask_to_cancel(self, tx: Transaction, job_id: UUID, now: datetime, files_until: datetime) -> Job | None:
        connection = connection_of(tx)
        waiting = await connection.fetchrow(_SQL["cancel_waiting"], tx.tenant_id, job_id, now, files_until)
        return _maybe(waiting or await connection.fetchrow(_SQL["cancel_running"], tx.tenant_id, job_id))

    async def drop_upload(self, tx: Transaction, job_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["drop_unfinished_upload"], tx.tenant_id, job_id)

    async def take(self, tx: Transaction, job_id: UUID, worker_id: UUID, lease: float) -> Job | None:
        return _maybe(await connection_of(tx).fetchrow(_SQL["take_job"], tx.tenant_id, job_id, worker_id, lease))

    async def hold(self, tx: Transaction, job_id: UUID, worker_id: UUID, lease: float) -> Job | None:
        return _maybe(await connection_of(tx).fetchrow(_SQL["hold_job"], tx.tenant_id, job_id, worker_id, lease))

    async def advance(self, tx: Transaction, job_id: UUID, step: Step) -> None:
        await connection_of(tx).execute(
            _SQL["advance_job"], tx.tenant_id, job_id, _json(step.place), step.done, step.total, _json(step.result)
        )

    async def end(
        self, tx: Transaction, job_id: UUID, state: JobState, error: str | None, files_until: datetime
    ) -> None:
        await connection_of(tx).execute(_SQL["end_job"], tx.tenant_id, job_id, state.value, error, files_until)

    async def give_back(self, tx: Transaction, job_id: UUID, worker_id: UUID, *, failed: bool) -> None:
        await connection_of(tx).execute(_SQL["give_back_job"], tx.tenant_id, job_id, worker_id, failed)

    async def tidy(self, tx: Transaction, job_id: UUID) -> None:
        await self.drop_upload(tx, job_id)
        await connection_of(tx).execute(_SQL["forget_files"], tx.tenant_id, job_id)


class PgFileStore:
    """Implements `jobs.ports.FileStore`."""

    async def put(self, tx: Transaction, job_id: UUID, file: JobFile, n: int, content: bytes) -> None:
        await connection_of(tx).execute(_SQL["put_part"], tx.tenant_id, job_id, file.value, n, content)

    async def get(self, tx: Transaction, job_id: UUID, file: JobFile, n: int) -> bytes | None:
        return await connection_of(tx).fetchval(_SQL["get_part"], tx.tenant_id, job_id, file.value, n)

    async def drop(self, tx: Transaction, job_id: UUID, *files: JobFile) -> None:
        await connection_of(tx).execute(_SQL["drop_files"], tx.tenant_id, job_id, [file.value for file in files])


class PgJobBoard:
    """Implements `jobs.ports.JobBoard`, on a connection of its own."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]:
        async with self._line.use() as connection:
            return [(row["tenant_id"], row["id"]) for row in await connection.fetch(_SQL["due_jobs"], at_most)]

    async def to_tidy(self, at_most: int) -> Sequence[tuple[str, UUID]]:
        async with self._line.use() as connection:
            return [(row["tenant_id"], row["id"]) for row in await connection.fetch(_SQL["jobs_to_tidy"], at_most)]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _maybe(row: Record | None) -> Job | None:
    return None if row is None else _job(row)


def _job(row: Record) -> Job:
    return Job(
        id=row["id"],
        kind=JobKind(row["kind"]),
        state=JobState(row["state"]),
        spec=row["spec"],
        place=msgspec.json.decode(row["place"]),
        done=row["done"],
        total=row["total"],
        result=msgspec.json.decode(row["result"]),
        error=row["error"],
        actor=row["actor"],
        cancel_asked=row["cancel_asked"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        files_until=row["files_until"],
        failures=row["failures"],
    )
