"""People from a file."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, Streamed, endpoint
from waypost.api.job_shapes import IMPORT_EXAMPLE, JobView, job_view
from waypost.api.shapes import ChannelWord, NoBody, NoQuery, Shape
from waypost.api.upload_body import Uploaded
from waypost.imports.model import ConsentColumn, ImportOptions
from waypost.kernel.tenancy import Permission


class ConsentColumnShape(Shape):
    column: Annotated[str, Meta(max_length=200, description="Its cells say granted or withdrawn, yes or no.")]
    topic: Annotated[str, Meta(max_length=100)]
    channel: ChannelWord
    source: Annotated[str, Meta(min_length=1, max_length=100, description="Where people agreed.")]
    text_version: Annotated[str, Meta(max_length=100, description="What they agreed to.")] | None = None


class ImportOrder(Shape):
    """How the file is read. Columns that carry our names need nothing here; unknown ones become attributes."""

    columns: Annotated[
        dict[str, str | None],
        Meta(description="From the file's names to ours (`email`, `attributes.city`); null leaves a column out."),
    ] = field(default_factory=dict)
    list_key: Annotated[str, Meta(max_length=100, description="Everyone in the file joins this list.")] | None = field(
        default=None, name="list"
    )
    tags: Annotated[list[str], Meta(max_length=100, description="Everyone in the file gets these tags.")] = field(
        default_factory=list
    )
    consents: Annotated[list[ConsentColumnShape], Meta(max_length=20)] = field(default_factory=list)
    delimiter: Annotated[str, Meta(max_length=1, description="Found by itself where it is left out.")] | None = None
    dry_run: Annotated[bool, Meta(description="Reads and reports, and changes nothing.")] = False


_EXAMPLE: Final = {"columns": {"E-Mail": "email", "City": "attributes.city"}, "tags": ["imported"]}


@endpoint(
    "POST",
    "/v1/imports",
    Permission.RECIPIENTS_WRITE,
    summary="Import recipients from a CSV file",
    body=Uploaded[ImportOrder],
    answer=JobView,
    status=202,
    audited=True,
    refusals={
        400: ["invalid_form"],
        413: ["file_too_large"],
        422: [
            "doubled_column",
            "empty_file",
            "invalid_delimiter",
            "invalid_header",
            "invalid_tag",
            "invalid_target",
            "no_identity_column",
            "too_many",
            "too_many_columns",
            "unknown_column",
            "unknown_list",
            "unknown_topic",
            "unsupported_encoding",
        ],
    },
    body_example=_EXAMPLE,
    answer_example={**IMPORT_EXAMPLE, "state": "waiting"},
)
async def start_import(call: Call[Uploaded[ImportOrder], NoQuery]) -> JobView:
    """Send the file as `multipart/form-data` (`options`, as JSON, and `file`), or as a body of `text/csv` with
    `?options=`. UTF-8, up to 256 MiB; the first line names the columns. Good rows are kept, others reported."""
    order = call.body.options
    options = ImportOptions(
        columns=order.columns,
        list_key=order.list_key,
        tags=tuple(order.tags),
        consents=tuple(
            ConsentColumn(
                column=one.column,
                topic=one.topic,
                channel=one.channel,
                source=one.source,
                text_version=one.text_version,
            )
            for one in order.consents
        ),
        delimiter=order.delimiter,
        dry_run=order.dry_run,
    )
    return job_view(await call.app.imports.start(call.tx, call.scope, call.body.upload, options))


@endpoint(
    "GET",
    "/v1/imports/{id}/report",
    Permission.RECIPIENTS_READ,
    summary="Fetch the report of an import",
    media_type="text/csv",
)
async def get_import_report(call: Call[NoBody, NoQuery]) -> Streamed:
    """One line for each fault: line, column, code and what to do. What stood there is not repeated."""
    parts = await call.app.imports.report(call.tx, call.scope, call.id("job"))
    return Streamed(parts=parts, media_type="text/csv")


ENDPOINTS: Final[tuple[Endpoint, ...]] = (start_import, get_import_report)
