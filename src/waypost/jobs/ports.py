"""What jobs need from the system of record, and what a kind of job must be able to do."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.jobs.model import Job, JobFile, JobKind, JobState, Step
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.work import Transaction


class JobStore(Protocol):
    async def add(self, tx: Transaction, job: Job) -> None: ...

    async def find(self, tx: Transaction, job_id: UUID) -> Job | None: ...

    async def page(self, tx: Transaction, kind: JobKind | None, before: UUID | None, limit: int) -> Sequence[Job]:
        """Newest first, without uploads that have not ended."""
        ...

    async def begin_waiting(
        self, tx: Transaction, job_id: UUID, spec: bytes, place: JsonObject, total: int, now: datetime
    ) -> None:
        """The upload is complete."""
        ...

    async def ask_to_cancel(self, tx: Transaction, job_id: UUID, now: datetime, files_until: datetime) -> Job | None:
        """At once where nobody works on it, else with its next step."""
        ...

    async def drop_upload(self, tx: Transaction, job_id: UUID) -> None:
        """One that was never completed, with its files."""
        ...

    async def take(self, tx: Transaction, job_id: UUID, worker_id: UUID, lease: float) -> Job | None:
        """For this worker, where it waits or was left behind; None where another was faster."""
        ...

    async def hold(self, tx: Transaction, job_id: UUID, worker_id: UUID, lease: float) -> Job | None:
        """Still this worker's, and until the transaction ends nobody else's; None where it is not."""
        ...

    async def advance(self, tx: Transaction, job_id: UUID, step: Step) -> None: ...

    async def end(
        self, tx: Transaction, job_id: UUID, state: JobState, error: str | None, files_until: datetime
    ) -> None: ...

    async def give_back(self, tx: Transaction, job_id: UUID, worker_id: UUID, *, failed: bool) -> None:
        """Waits for its next turn behind the others."""
        ...

    async def tidy(self, tx: Transaction, job_id: UUID) -> None:
        """Its files are gone; an upload that never ended goes whole."""
        ...


class FileStore(Protocol):
    async def put(self, tx: Transaction, job_id: UUID, file: JobFile, n: int, content: bytes) -> None: ...

    async def get(self, tx: Transaction, job_id: UUID, file: JobFile, n: int) -> bytes | None: ...

    async def drop(self, tx: Transaction, job_id: UUID, *files: JobFile) -> None: ...


class JobBoard(Protocol):
    """Looks over all tenants; names only whose job and which."""

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]: ...

    async def to_tidy(self, at_most: int) -> Sequence[tuple[str, UUID]]: ...


class JobSteps(Protocol):
    """A kind of job. A step is bounded in time and memory, and leaves nothing outside its transaction."""

    async def step(self, tx: Transaction, job: Job) -> Step: ...

    async def end(self, tx: Transaction, job: Job) -> None:
        """It finished, failed or was cancelled: nothing of it stays that only the work needed."""
        ...


Kinds = Mapping[JobKind, JobSteps]
