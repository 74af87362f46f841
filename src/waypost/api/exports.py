"""Files of people and suppressions."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, Streamed, endpoint
from waypost.api.job_shapes import EXPORT_EXAMPLE, JobView, job_view
from waypost.api.shapes import NoBody, NoQuery, Shape
from waypost.exports.model import ExportKind, ExportSpec
from waypost.kernel.tenancy import Permission


class ExportOrder(Shape):
    kind: ExportKind
    tag: Annotated[str, Meta(max_length=64, description="Only recipients with this tag.")] | None = None
    list: Annotated[str, Meta(max_length=100, description="Only members of this list.")] | None = None


@endpoint(
    "POST",
    "/v1/exports",
    Permission.RECIPIENTS_EXPORT,
    summary="Export recipients or suppressions",
    body=ExportOrder,
    answer=JobView,
    status=202,
    audited=True,
    refusals={422: ["invalid_filter", "one_filter_only", "unknown_list"]},
    body_example={"kind": "recipients", "tag": "beta"},
    answer_example={**EXPORT_EXAMPLE, "state": "waiting"},
)
async def start_export(call: Call[ExportOrder, NoQuery]) -> JobView:
    """A job that makes a CSV file. Recipients' addresses are in the clear there, and an import reads the file back."""
    spec = ExportSpec(kind=call.body.kind, tag=call.body.tag, list_key=call.body.list)
    return job_view(await call.app.exports.start(call.tx, call.scope, spec))


@endpoint(
    "GET",
    "/v1/exports/{id}/file",
    Permission.RECIPIENTS_EXPORT,
    summary="Fetch the file of an export",
    media_type="text/csv",
    refusals={404: ["file_gone"], 409: ["not_finished"]},
)
async def get_export_file(call: Call[NoBody, NoQuery]) -> Streamed:
    """There for a day, and gone at once when someone is erased: make another one then."""
    parts = await call.app.exports.file(call.tx, call.scope, call.id("job"))
    return Streamed(parts=parts, media_type="text/csv")


ENDPOINTS: Final[tuple[Endpoint, ...]] = (start_export, get_export_file)
