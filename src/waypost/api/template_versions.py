"""The versions of a template: drafted, read, tried out, compared, approved, published, archived."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.file_shapes import new_files
from waypost.api.shapes import Listing, NoBody, NoQuery, PageQuery, Shape
from waypost.api.template_shapes import (
    COMPILE_CODES,
    NO_TEMPLATE,
    NO_VERSION,
    WRITTEN_CODES,
    NewVersion,
    channel_of,
)
from waypost.api.template_views import DraftedView, VersionView, show_drafted, show_version
from waypost.kernel.tenancy import Permission
from waypost.templates import drafting
from waypost.templates.model import Provenance

_VERSIONS: Final = "/v1/templates/{key}/{channel}/versions"
_ONE: Final = f"{_VERSIONS}/{{semver}}"


class Approver(Shape):
    approver: Annotated[str, Meta(description="The person who read it and stands for it.", examples=["Jane Roe"])]


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
    "tracking": {"opens": None, "clicks": None},
    "files": [],
    "created_at": "2026-01-15T12:00:00Z",
    "published_at": None,
}
_NOTHING_FOUND: Final[list[object]] = []
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
    answer_example=_VERSION | {"findings": _NOTHING_FOUND},
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
            files=new_files(new.files, "/files"),
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
    answer_example=_VERSION | {"state": "active", "published_at": "2026-01-15T12:00:00Z", "findings": _NOTHING_FOUND},
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


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_version,
    list_versions,
    get_version,
    publish_version,
    archive_version,
    approve_version,
)
