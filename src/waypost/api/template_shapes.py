"""How templates and their versions are written and shown."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType, field

from waypost.api.endpoint import Call
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    JsonMap,
    Moment,
    PageQuery,
    Shape,
    ShownCategory,
    ShownChannel,
)
from waypost.kernel import ids
from waypost.kernel.errors import NotFound
from waypost.kernel.locale_tag import reads_from_right, spell_locale
from waypost.kernel.vocabulary import CHANNELS, Channel
from waypost.templates.lint import Finding
from waypost.templates.model import (
    Content,
    Direction,
    Format,
    LocaleSource,
    Origin,
    Profile,
    Template,
    TemplateKind,
    Version,
    Written,
)

Locale = Annotated[str, Meta(description="A language tag.", examples=["de-AT"])]
Semver = Annotated[str, Meta(description="Three numbers.", examples=["1.0.0"])]
Key = Annotated[str, Meta(description="1 to 100 lower-case letters, digits, `.`, `_`, `-`.", examples=["order-paid"])]
ShownState = Annotated[str, Meta(extra_json_schema={"enum": ["draft", "active", "archived"]})]


class ContentShape(Shape):
    """`html`, `text` or both; a missing text is made from the HTML."""

    subject: Annotated[str, Meta(examples=["Order {{ order }} is paid"])]
    html: str | None = None
    text: str | None = None

    def content(self) -> Content:
        return Content(subject=self.subject, html=self.html, text=self.text)


class NewTemplate(Shape):
    key: Key
    category: CategoryWord
    channel: ChannelWord = "email"
    topic: Annotated[str, Meta(description="The key of one of your topics, of the same category.")] | None = None
    default_locale: Annotated[Locale, Meta(description="Every version has this one.")] = "en"
    name: Annotated[str, Meta(description="For people; the key without it.")] | None = None
    kind: Annotated[TemplateKind, Meta(description="Layouts and partials are used by messages.")] = TemplateKind.MESSAGE


class TemplateChange(Shape):
    """What is left out stays as it is."""

    name: str | UnsetType = UNSET
    category: Annotated[CategoryWord, Meta(description="Until something is published.")] | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    default_locale: Locale | UnsetType = UNSET


class TemplateQuery(PageQuery):
    owner: Annotated[
        Literal["tenant", "platform"], Meta(description="Your own, or those that the platform offers to everyone.")
    ] = "tenant"


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


class LocaleShape(Shape):
    """The content of one locale."""

    body: str
    subject: Annotated[str, Meta(description="An email needs one.", examples=["Order {{ order }} is paid"])] = ""
    preheader: Annotated[str, Meta(description="What mail programs show beside the subject.")] | None = None
    format: Format = Format.HTML
    text: Annotated[str, Meta(description="The text part; made from the body without it.")] | None = None
    direction: Annotated[Direction, Meta(description="That of the language without it.")] | None = None


class WrittenShape(Shape):
    """What an author writes."""

    locales: Annotated[dict[str, LocaleShape], Meta(description="By language tag.")]
    profile: Annotated[Profile, Meta(description="The template language.")] = Profile.JINJA
    layout: Annotated[str, Meta(description="The key of a published layout around the body.")] | None = None
    fallback_chain: Annotated[
        list[Locale], Meta(description="Tried in this order where there is no content in the recipient's language.")
    ] = field(default_factory=list)
    variables_schema: Annotated[JsonMap, Meta(description="A JSON Schema of the variables.")] | None = None
    samples: Annotated[dict[str, JsonMap], Meta(description="Variables to preview with, by name.")] = field(
        default_factory=dict
    )

    def written(self) -> Written:
        return Written(
            locales={tag: _source(tag, shape) for tag, shape in self.locales.items()},
            layout=self.layout,
            profile=self.profile,
            fallback_chain=tuple(self.fallback_chain),
            variables_schema=self.variables_schema,
            samples=self.samples,
        )


class ProvenanceShape(Shape):
    model: Annotated[str, Meta(description="The model that wrote it.")] | None = None
    prompt: Annotated[str, Meta(description="A reference to the prompt, not the prompt.")] | None = None


class NewVersion(WrittenShape, kw_only=True):
    semver: Annotated[Semver, Meta(description="The next minor one without it.")] | None = None
    source: (
        Annotated[Literal["ai_drafted"], Meta(description="Say so where a model wrote it: a person then approves it.")]
        | None
    ) = None
    provenance: ProvenanceShape = field(default_factory=ProvenanceShape)


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
    created_at: Moment
    published_at: Annotated[Moment, Meta(description="When it was last published.")] | None


class DraftedView(VersionView, kw_only=True):
    findings: Annotated[list[FindingView], Meta(description="Errors keep it from being published.")]


CONTENT_CODES: Final = [
    "missing_variable",
    "render_failed",
    "render_timeout",
    "render_too_large",
    "template_crashed",
    "template_refused",
    "template_syntax",
    "template_timeout",
    "too_large",
]
SCHEMA_CODES: Final = [
    "invalid_schema",
    "remote_reference",
    "schema_crashed",
    "schema_timeout",
    "too_deep",
    "too_large",
]
COMPILE_CODES: Final = [*CONTENT_CODES, "cyclic_layout", "too_many", "unknown_partial"]
WRITTEN_CODES: Final = [
    *COMPILE_CODES,
    *SCHEMA_CODES,
    "duplicate_locale",
    "fallback_loop",
    "invalid_locale",
    "invalid_name",
    "missing_default_locale",
    "required",
    "unknown_field",
    "unknown_locale",
    "wrong_format",
]
NO_TEMPLATE: Final = ["template_not_found"]
NO_VERSION: Final = ["template_not_found", "version_not_found"]


def channel_of(call: Call[Any, Any]) -> Channel:
    channel = CHANNELS.get(call.path["channel"])
    if channel is None:
        raise NotFound("There is no template of this key and channel.", code="template_not_found")
    return channel


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
        "created_at": version.created_at,
        "published_at": version.published_at,
    }


def _source(tag: str, shape: LocaleShape) -> LocaleSource:
    own = Direction.RTL if reads_from_right(spell_locale(tag) or "") else Direction.LTR
    return LocaleSource(
        subject=shape.subject,
        preheader=shape.preheader,
        body=shape.body,
        format=shape.format,
        text=shape.text,
        direction=shape.direction or own,
    )


def _locale(source: LocaleSource) -> LocaleShape:
    return LocaleShape(
        body=source.body,
        subject=source.subject,
        preheader=source.preheader,
        format=source.format,
        text=source.text,
        direction=source.direction,
    )
