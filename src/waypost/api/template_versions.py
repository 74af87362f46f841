"""The versions of a template: drafted, read, tried out, compared, approved, published, archived."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import JsonMap, Listing, NoBody, NoQuery, PageQuery, Shape
from waypost.api.template_shapes import (
    COMPILE_CODES,
    NO_TEMPLATE,
    NO_VERSION,
    WRITTEN_CODES,
    DraftedView,
    FindingView,
    NewVersion,
    Semver,
    VersionView,
    channel_of,
    show_drafted,
    show_findings,
    show_version,
)
from waypost.api.templates import PREVIEW_CODES, RENDERED, PreviewQuestion, RenderedView, show_rendered
from waypost.kernel.tenancy import Permission
from waypost.templates import drafting
from waypost.templates.model import Provenance

_VERSIONS: Final = "/v1/templates/{key}/{channel}/versions"
_ONE: Final = f"{_VERSIONS}/{{semver}}"


class Approver(Shape):
    approver: Annotated[str, Meta(description="The person who read it and stands for it.", examples=["Jane Roe"])]


class DiffQuery(Shape):
    before: Annotated[Semver, Meta(description="The version to compare from.")] = field(name="from")
    after: Annotated[Semver, Meta(description="The version to compare to.")] = field(name="to")


class ChangeView(Shape):
    pointer: str
    before: JsonMap | list[str] | str | None
    after: JsonMap | list[str] | str | None
    unified: str | None


class DiffView(Shape):
    before: str = field(name="from")
    after: str = field(name="to")
    changes: list[ChangeView]
    unified: Annotated[str, Meta(description="All changes as one patch to read.")]


class LintView(Shape):
    findings: list[FindingView]


_LOCALE: Final = {
    "body": "<p>Thank you.</p>",
    "subject": "Order {{ order }} is paid",
    "preheader": None,
    "format": "html",
    "text": None,
    "direction": "ltr",
}
_VERSION: Final[dict[str, object]] = {
    "id": "tpv_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "semver": "1.0.0",
    "state": "draft",
    "source": "tenant",
    "provenance": {"model": None, "prompt": None},
    "approval": None,
    "profile": "jinja",
    "layout": None,
    "locales": {"en": _LOCALE},
    "fallback_chain": [],
    "variables_schema": {"type": "object", "required": ["order"]},
    "samples": {},
    "created_at": "2026-01-15T12:00:00Z",
    "published_at": None,
}
_SEMVER_CODES: Final = ["invalid_semver", "semver_taken", "semver_too_low", "invalid_reference"]


@endpoint(
    "POST",
    _VERSIONS,
    Permission.TEMPLATES_WRITE,
    summary="Add a draft",
    body=NewVersion,
    answer=DraftedView,
    status=201,
    versioned=True,
    audited=True,
    refusals={404: NO_TEMPLATE, 422: sorted({*WRITTEN_CODES, *_SEMVER_CODES})},
    body_example={"locales": {"en": {"subject": "Order {{ order }} is paid", "body": "<p>Thank you.</p>"}}},
    answer_example=_VERSION | {"findings": []},
)
async def create_version(call: Call[NewVersion, NoQuery]) -> Versioned:
    """Checked now in every locale, sent by nobody until it is published, and never changed. A variable marked
    `writeOnly` is forgotten once it is sent. The ETag is the template's."""
    new = call.body
    made = await call.app.templates.drafts.add(
        call.tx,
        call.scope,
        call.path["key"],
        channel_of(call),
        drafting.NewVersion(
            written=new.written(),
            semver=new.semver,
            is_ai_drafted=new.source is not None,
            provenance=Provenance(model=new.provenance.model, prompt=new.provenance.prompt),
        ),
        revision=call.expected_version,
    )
    return Versioned(body=show_drafted(made.version, made.findings), version=made.template.revision)


@endpoint(
    "GET",
    _VERSIONS,
    Permission.TEMPLATES_READ,
    summary="List a template's versions",
    query=PageQuery,
    answer=Listing[VersionView],
    refusals={400: ["invalid_cursor"], 404: NO_TEMPLATE},
    answer_example={"items": [_VERSION], "next": None},
)
async def list_versions(call: Call[NoBody, PageQuery]) -> Listing[VersionView]:
    """Newest first. Of a platform's template, those that are or were published."""
    page = await call.app.templates.drafts.page(
        call.tx, call.scope, call.path["key"], channel_of(call), call.query.cursor, call.query.limit
    )
    return Listing(items=[show_version(version) for version in page.items], next=page.next)


@endpoint(
    "GET",
    _ONE,
    Permission.TEMPLATES_READ,
    summary="Read a version",
    answer=VersionView,
    refusals={404: NO_VERSION},
    answer_example=_VERSION,
)
async def get_version(call: Call[NoBody, NoQuery]) -> VersionView:
    """What was written never changes."""
    _, found = await call.app.templates.drafts.get(
        call.tx, call.scope, call.path["key"], channel_of(call), call.path["semver"]
    )
    return show_version(found)


@endpoint(
    "POST",
    f"{_ONE}/publish",
    Permission.TEMPLATES_WRITE,
    summary="Publish a version",
    answer=DraftedView,
    versioned=True,
    audited=True,
    refusals={
        404: NO_VERSION,
        409: ["approval_needed", "illegal_transition"],
        422: [*COMPILE_CODES, "lint_failed", "missing_default_locale"],
    },
    answer_example=_VERSION | {"state": "active", "published_at": "2026-01-15T12:00:00Z", "findings": []},
)
async def publish_version(call: Call[NoBody, NoQuery]) -> Versioned:
    """Sent from now on. What was accepted before is sent with the version it was accepted with. Layouts and partials
    are worked in as they are published now. One that is archived comes back just as it was."""
    published = await call.app.templates.publish(
        call.tx,
        call.scope,
        call.path["key"],
        channel_of(call),
        call.path["semver"],
        revision=call.expected_version,
    )
    return Versioned(body=show_drafted(published.version, published.findings), version=published.template.revision)


@endpoint(
    "POST",
    f"{_ONE}/archive",
    Permission.TEMPLATES_WRITE,
    summary="Archive a version",
    answer=VersionView,
    versioned=True,
    audited=True,
    refusals={404: NO_VERSION, 409: ["illegal_transition"]},
    answer_example=_VERSION | {"state": "archived"},
)
async def archive_version(call: Call[NoBody, NoQuery]) -> Versioned:
    """Gives up a draft, or stops sending the active version without another in its place."""
    template, archived = await call.app.templates.drafts.archive(
        call.tx,
        call.scope,
        call.path["key"],
        channel_of(call),
        call.path["semver"],
        revision=call.expected_version,
    )
    return Versioned(body=show_version(archived), version=template.revision)


@endpoint(
    "POST",
    f"{_ONE}/approve",
    Permission.TEMPLATES_APPROVE,
    summary="Approve what a model wrote",
    body=Approver,
    answer=VersionView,
    audited=True,
    refusals={404: NO_VERSION, 409: ["no_approval_needed"], 422: ["invalid_name"]},
    body_example={"approver": "Jane Roe"},
    answer_example=_VERSION | {"source": "ai_drafted", "approval": {"by": "Jane Roe", "at": "2026-01-15T12:00:00Z"}},
)
async def approve_version(call: Call[Approver, NoQuery]) -> VersionView:
    """By name, once: the first approval stays. Without one, a version of a model cannot be published."""
    approved = await call.app.templates.drafts.approve(
        call.tx, call.scope, call.path["key"], channel_of(call), call.path["semver"], approver=call.body.approver
    )
    return show_version(approved)


@endpoint(
    "POST",
    f"{_ONE}/preview",
    Permission.TEMPLATES_READ,
    summary="Try out a version",
    body=PreviewQuestion,
    answer=RenderedView,
    refusals={404: NO_VERSION, 422: PREVIEW_CODES},
    body_example={"variables": {"order": 7}, "locale": "en"},
    answer_example=RENDERED,
)
async def preview_version(call: Call[PreviewQuestion, NoQuery]) -> RenderedView:
    """With variables or a sample, for anyone or for a real recipient. Nothing is sent and nothing is stored."""
    shown = await call.app.templates.preview.stored(
        call.tx, call.scope, call.path["key"], channel_of(call), call.path["semver"], call.body.whom()
    )
    return show_rendered(shown)


@endpoint(
    "POST",
    f"{_ONE}/lint",
    Permission.TEMPLATES_READ,
    summary="Look for what should be mended",
    answer=LintView,
    refusals={404: NO_VERSION, 422: COMPILE_CODES},
    answer_example={
        "findings": [
            {
                "level": "warning",
                "pointer": "/locales/en/subject",
                "code": "long_subject",
                "message": "Is longer than 78 characters; most people see half of that.",
            }
        ]
    },
)
async def lint_version(call: Call[NoBody, NoQuery]) -> LintView:
    """Errors keep a version from being published, warnings do not."""
    findings = await call.app.templates.drafts.lint(
        call.tx, call.scope, call.path["key"], channel_of(call), call.path["semver"]
    )
    return LintView(findings=show_findings(findings))


@endpoint(
    "GET",
    "/v1/templates/{key}/{channel}/diff",
    Permission.TEMPLATES_READ,
    summary="Compare two versions",
    query=DiffQuery,
    answer=DiffView,
    refusals={404: NO_VERSION},
    answer_example={
        "from": "1.0.0",
        "to": "1.1.0",
        "changes": [
            {"pointer": "/locales/en/subject", "before": "Paid", "after": "Your order is paid", "unified": "…"}
        ],
        "unified": "…",
    },
)
async def diff_versions(call: Call[NoBody, DiffQuery]) -> DiffView:
    """Field by field and as text."""
    query = call.query
    found = await call.app.templates.drafts.compare(
        call.tx, call.scope, call.path["key"], channel_of(call), query.before, query.after
    )
    return DiffView(
        before=found.before.semver,
        after=found.after.semver,
        changes=[
            ChangeView(pointer=each.pointer, before=each.before, after=each.after, unified=each.unified)  # pyright: ignore[reportArgumentType] — plain JSON
            for each in found.changes
        ],
        unified=found.unified,
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_version,
    list_versions,
    get_version,
    publish_version,
    archive_version,
    approve_version,
    preview_version,
    lint_version,
    diff_versions,
)
