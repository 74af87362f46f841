"""How templates, versions and what was found in them are shown."""

from typing import Annotated, Any

from msgspec import Meta

from waypost.api.file_shapes import FileView, show_files
from waypost.api.shapes import JsonMap, Moment, Shape, ShownCategory, ShownChannel
from waypost.api.template_shapes import LocaleShape, ProvenanceShape
from waypost.api.tracking_shapes import TrackingShape, show_tracking
from waypost.kernel import ids
from waypost.templates.lint import Finding
from waypost.templates.model import LocaleSource, Origin, Profile, Template, TemplateKind, Version

ShownState = Annotated[str, Meta(extra_json_schema={"enum": ["draft", "active", "archived"]})]


class TemplateView(Shape):
    id: str
    key: str
    channel: ShownChannel
    kind: TemplateKind
    owner: Annotated[str, Meta(extra_json_schema={"enum": ["tenant", "platform"]})]
    category: ShownCategory
    topic: str | None
    default_locale: str
    name: str
    revision: Annotated[int, Meta(description="Grows with every change; the ETag.")]
    created_at: Moment
    updated_at: Moment
    published_at: Annotated[Moment, Meta(description="When a version was first published.")] | None
    archived_at: Moment | None


class ApprovalView(Shape):
    by: str
    at: Moment


class FindingView(Shape):
    level: Annotated[str, Meta(extra_json_schema={"enum": ["error", "warning"]})]
    pointer: str
    code: str
    message: str


class VersionView(Shape):
    id: str
    semver: str
    state: ShownState
    source: Origin
    provenance: ProvenanceShape
    approval: ApprovalView | None
    profile: Profile
    layout: str | None
    locales: dict[str, LocaleShape]
    fallback_chain: list[str]
    variables_schema: JsonMap | None
    samples: dict[str, JsonMap]
    tracking: TrackingShape
    files: list[FileView]
    created_at: Moment
    published_at: Annotated[Moment, Meta(description="When it was last published.")] | None


class DraftedView(VersionView, kw_only=True):
    findings: Annotated[list[FindingView], Meta(description="Errors keep it from being published.")]


def show_template(template: Template) -> TemplateView:
    return TemplateView(
        id=ids.show("tpl", template.id),
        key=template.key,
        channel=template.channel.word,
        kind=template.kind,
        owner="platform" if template.is_platforms else "tenant",
        category=template.category.word,
        topic=template.topic,
        default_locale=template.default_locale,
        name=template.name,
        revision=template.revision,
        created_at=template.created_at,
        updated_at=template.updated_at,
        published_at=template.published_at,
        archived_at=template.archived_at,
    )


def show_version(version: Version) -> VersionView:
    return VersionView(**_fields(version))


def show_drafted(version: Version, findings: tuple[Finding, ...]) -> DraftedView:
    return DraftedView(**_fields(version), findings=show_findings(findings))


def show_findings(findings: tuple[Finding, ...] | list[Finding]) -> list[FindingView]:
    return [
        FindingView(level=each.level.value, pointer=each.pointer, code=each.code, message=each.message)
        for each in findings
    ]


def _fields(version: Version) -> dict[str, Any]:
    written, approval = version.written, version.approval
    return {
        "id": ids.show("tpv", version.id),
        "semver": version.semver,
        "state": version.state.value,
        "source": version.origin,
        "provenance": ProvenanceShape(model=version.provenance.model, prompt=version.provenance.prompt),
        "approval": ApprovalView(by=approval.by, at=approval.at) if approval else None,
        "profile": written.profile,
        "layout": written.layout,
        "locales": {tag: _locale(source) for tag, source in sorted(written.locales.items())},
        "fallback_chain": list(written.fallback_chain),
        "variables_schema": written.variables_schema,
        "samples": dict(written.samples),
        "tracking": show_tracking(written.tracking),
        "files": show_files(written.files),
        "created_at": version.created_at,
        "published_at": version.published_at,
    }


def _locale(source: LocaleSource) -> LocaleShape:
    return LocaleShape(
        body=source.body,
        subject=source.subject,
        preheader=source.preheader,
        format=source.format,
        text=source.text,
        direction=source.direction,
    )
