"""Trying versions out, looking for what should be mended, and comparing two."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import JsonMap, NoBody, NoQuery, Shape
from waypost.api.template_shapes import (
    COMPILE_CODES,
    NO_TEMPLATE,
    NO_VERSION,
    WRITTEN_CODES,
    Locale,
    Semver,
    WrittenShape,
    channel_of,
)
from waypost.api.template_views import FindingView, show_findings
from waypost.kernel.tenancy import Permission
from waypost.templates.model import Direction
from waypost.templates.preview import For, Shown

_ONE: Final = "/v1/templates/{key}/{channel}/versions/{semver}"


class PreviewQuestion(Shape, kw_only=True):
    """For whom to show it."""

    variables: Annotated[JsonMap, Meta(description="The version's first sample without them.")] | None = None
    sample: Annotated[str, Meta(description="One of the version's samples; `variables` go above it.")] | None = None
    recipient: Annotated[str, Meta(description="Someone real, by your id.")] | None = None
    locale: Annotated[Locale, Meta(description="Without it, the recipient's or the default.")] | None = None

    def whom(self) -> For:
        return For(variables=self.variables, sample=self.sample, recipient=self.recipient, locale=self.locale)


class UnsavedPreview(PreviewQuestion, kw_only=True):
    version: WrittenShape


class RenderedView(Shape):
    locale: Annotated[str, Meta(description="Of the content that was chosen.")]
    direction: Direction
    subject: str
    preheader: str | None
    html: Annotated[str, Meta(description="Images of the version's own stand in it as `data:`.")] | None
    text: str
    json: str | None
    findings: list[FindingView]


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


_RENDERED: Final[Mapping[str, object]] = {
    "locale": "en",
    "direction": "ltr",
    "subject": "Order 7 is paid",
    "preheader": None,
    "html": "<p>Thank you.</p>",
    "text": "Thank you.",
    "json": None,
    "findings": [],
}
_PREVIEW_CODES: Final = [
    *COMPILE_CODES,
    "invalid_locale",
    "invalid_variables",
    "unknown_locale",
    "unknown_recipient",
    "unknown_sample",
]


@endpoint(
    "POST",
    "/v1/templates/{key}/{channel}/preview",
    Permission.TEMPLATES_READ,
    summary="Try out what is not stored yet",
    body=UnsavedPreview,
    answer=RenderedView,
    refusals={404: NO_TEMPLATE, 422: sorted({*WRITTEN_CODES, *_PREVIEW_CODES})},
    body_example={
        "version": {"locales": {"en": {"subject": "Order {{ order }}", "body": "<p>Thank you.</p>"}}},
        "variables": {"order": 7},
    },
    answer_example=_RENDERED,
)
async def preview_unsaved(call: Call[UnsavedPreview, NoQuery]) -> RenderedView:
    """Nothing is sent and nothing is stored."""
    shown = await call.app.templates.preview.unsaved(
        call.tx, call.scope, call.path["key"], channel_of(call), call.body.version.written(), call.body.whom()
    )
    return _show(shown)


@endpoint(
    "POST",
    f"{_ONE}/preview",
    Permission.TEMPLATES_READ,
    summary="Try out a version",
    body=PreviewQuestion,
    answer=RenderedView,
    refusals={404: NO_VERSION, 422: _PREVIEW_CODES},
    body_example={"variables": {"order": 7}, "locale": "en"},
    answer_example=_RENDERED,
)
async def preview_version(call: Call[PreviewQuestion, NoQuery]) -> RenderedView:
    """With variables or a sample, for anyone or for a real recipient. Nothing is sent and nothing is stored."""
    shown = await call.app.templates.preview.stored(
        call.tx, call.scope, call.path["key"], channel_of(call), call.path["semver"], call.body.whom()
    )
    return _show(shown)


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


ENDPOINTS: Final[tuple[Endpoint, ...]] = (preview_unsaved, preview_version, lint_version, diff_versions)


def _show(shown: Shown) -> RenderedView:
    parts = shown.parts
    return RenderedView(
        locale=shown.locale,
        direction=shown.direction,
        subject=parts.subject,
        preheader=parts.preheader,
        html=parts.html,
        text=parts.text,
        json=parts.json,
        findings=show_findings(shown.findings),
    )
