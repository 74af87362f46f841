"""Long work: how it stands, and stopping it."""

from typing import Final

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.job_shapes import IMPORT_EXAMPLE, JobView, job_view
from waypost.api.shapes import Listing, NoBody, NoQuery, PageQuery
from waypost.jobs.model import JobKind
from waypost.kernel.tenancy import Permission


class JobQuery(PageQuery):
    kind: JobKind | None = None


@endpoint(
    "GET",
    "/v1/jobs",
    Permission.RECIPIENTS_READ,
    summary="List jobs",
    query=JobQuery,
    answer=Listing[JobView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [IMPORT_EXAMPLE], "next": None},
)
async def list_jobs(call: Call[NoBody, JobQuery]) -> Listing[JobView]:
    """Newest first."""
    page = await call.app.jobs.page(call.tx, call.scope, call.query.cursor, call.query.limit, kind=call.query.kind)
    return Listing(items=[job_view(job) for job in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/jobs/{id}",
    Permission.RECIPIENTS_READ,
    summary="Read a job",
    answer=JobView,
    answer_example=IMPORT_EXAMPLE,
)
async def get_job(call: Call[NoBody, NoQuery]) -> JobView:
    """Where it stands, what came of it so far, and where its files are."""
    return job_view(await call.app.jobs.get(call.tx, call.scope, call.id("job")))


@endpoint(
    "POST",
    "/v1/jobs/{id}/cancel",
    Permission.RECIPIENTS_READ,
    summary="Cancel a job",
    answer=JobView,
    audited=True,
    refusals={409: ["not_cancellable"]},
    answer_example=IMPORT_EXAMPLE,
)
async def cancel_job(call: Call[NoBody, NoQuery]) -> JobView:
    """What was done stays done; one that is running stops before its next step. Needs what starting it needed."""
    return job_view(await call.app.jobs.cancel(call.tx, call.scope, call.id("job")))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_jobs, get_job, cancel_job)
