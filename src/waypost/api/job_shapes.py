"""How jobs are shown."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.shapes import JsonMap, Moment, Shape
from waypost.jobs.model import Job, JobFile, JobKind, JobState
from waypost.kernel import ids


class ProgressView(Shape):
    done: int
    total: int | None
    unit: Annotated[str, Meta(examples=["bytes"])]


class JobView(Shape):
    id: str
    kind: JobKind
    state: JobState
    progress: ProgressView
    result: Annotated[JsonMap, Meta(description="What came of it so far.")]
    links: Annotated[dict[str, str], Meta(description="Files that can be fetched.")]
    error: Annotated[str, Meta(description="Why it failed.")] | None
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    files_until: Annotated[Moment, Meta(description="When its files go.")] | None


def job_view(job: Job) -> JobView:
    shown = ids.show("job", job.id)
    return JobView(
        id=shown,
        kind=job.kind,
        state=job.state,
        progress=ProgressView(done=job.done, total=job.total, unit=job.kind.unit),
        result=job.result,
        links=_links(job, shown),
        error=job.error,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        files_until=job.files_until,
    )


def _links(job: Job, shown: str) -> dict[str, str]:
    if job.state.has_ended and job.files_until is None:
        return {}
    if job.kind is JobKind.REDRIVE:
        return {}
    if job.kind is JobKind.IMPORT:
        return {JobFile.REPORT.value: f"/v1/imports/{shown}/report"}
    return {"file": f"/v1/exports/{shown}/file"} if job.state is JobState.FINISHED else {}


IMPORT_EXAMPLE: Final = {
    "id": "job_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "kind": "import",
    "state": "running",
    "progress": {"done": 1048576, "total": 104857600, "unit": "bytes"},
    "result": {"rows": 10000, "created": 9990, "changed": 0, "unchanged": 0, "rejected": 10},
    "links": {"report": "/v1/imports/job_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q/report"},
    "error": None,
    "created_at": "2026-01-15T12:00:00Z",
    "started_at": "2026-01-15T12:00:01Z",
    "finished_at": None,
    "files_until": None,
}
EXPORT_EXAMPLE: Final = {
    "id": "job_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "kind": "export",
    "state": "finished",
    "progress": {"done": 10000, "total": 10000, "unit": "rows"},
    "result": {"kind": "recipients", "rows": 10000, "parts": 6},
    "links": {"file": "/v1/exports/job_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q/file"},
    "error": None,
    "created_at": "2026-01-15T12:00:00Z",
    "started_at": "2026-01-15T12:00:01Z",
    "finished_at": "2026-01-15T12:00:03Z",
    "files_until": "2026-01-16T12:00:03Z",
}
