"""How templates and their versions are written and shown."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from waypost.api.endpoint import Call
from waypost.api.file_shapes import FILE_CODES, TemplateFileShape
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    JsonMap,
    PageQuery,
    Shape,
)
from waypost.api.tracking_shapes import TrackingShape, tracking_of
from waypost.kernel.errors import NotFound, refuse
from waypost.kernel.locale_tag import reads_from_right, spell_locale
from waypost.kernel.vocabulary import CHANNELS, Channel
from waypost.templates.model import (
    Content,
    Direction,
    Format,
    InlineSource,
    LocaleSource,
    Profile,
    TemplateKind,
    Written,
)

Locale = Annotated[str, Meta(description="A language tag.", examples=["de-AT"])]
Semver = Annotated[str, Meta(description="Three numbers.", examples=["1.0.0"])]
Key = Annotated[str, Meta(description="1 to 100 lower-case letters, digits, `.`, `_`, `-`.", examples=["order-paid"])]


class ContentShape(Shape):
    """One of `html`, `mjml` and `markdown`, or `text`, or both; a missing text is made from the HTML. Plain `html` goes
    out as it is: its style sheets stay style sheets."""

    subject: Annotated[str, Meta(examples=["Order {{ order }} is paid"])]
    html: str | None = None
    text: str | None = None
    mjml: str | None = None
    markdown: str | None = None
    json: (
        Annotated[
            JsonMap,
            Meta(
                description="Instead, for an inbox: `body`, `cta_url`, `actions`, `data`, `sender` and `inbox`, the one"
                " it goes to.",
                examples=[{"body": "Order {{ order }} is paid.", "inbox": "orders"}],
            ),
        ]
        | None
    ) = None
    preheader: Annotated[str, Meta(description="What mail programs show beside the subject.")] | None = None
    profile: Annotated[Profile, Meta(description="The template language.")] = Profile.JINJA

    def content(self) -> Content | InlineSource:
        is_plain = self.mjml is None and self.markdown is None and self.json is None
        if is_plain and (self.html is None or not self.preheader):
            return Content(subject=self.subject, html=self.html, text=self.text, profile=self.profile)
        written = None if self.json is None else msgspec.json.encode(self.json).decode()
        bodies = {"html": self.html, "mjml": self.mjml, "markdown": self.markdown, "json": written}
        given = [name for name, body in bodies.items() if body is not None]
        if len(given) > 1:
            raise refuse(f"/content/{given[1]}", "one_body", "Give one of `html`, `mjml`, `markdown` and `json`.")
        if self.json is not None and self.text is not None:
            raise refuse("/content/text", "one_body", "Give `text` or `json`.")
        source = LocaleSource(
            subject=self.subject,
            preheader=self.preheader,
            body=bodies[given[0]] or "",
            format=Format(given[0]),
            text=self.text,
        )
        return InlineSource(source=source, profile=self.profile, field=given[0])


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
    tracking: TrackingShape | None = None

    def written(self) -> Written:
        return Written(
            locales={tag: _source(tag, shape) for tag, shape in self.locales.items()},
            layout=self.layout,
            profile=self.profile,
            fallback_chain=tuple(self.fallback_chain),
            variables_schema=self.variables_schema,
            samples=self.samples,
            tracking=tracking_of(self.tracking),
        )


class ProvenanceShape(Shape):
    model: Annotated[str, Meta(description="The model that wrote it.")] | None = None
    prompt: Annotated[str, Meta(description="A reference to the prompt, not the prompt.")] | None = None


class NewVersion(WrittenShape, kw_only=True):
    files: Annotated[
        list[TemplateFileShape],
        Meta(description="Images that its HTML shows, and files for every message; up to 700 KB together."),
    ] = field(default_factory=list)
    semver: Annotated[Semver, Meta(description="The next minor one without it.")] | None = None
    source: (
        Annotated[Literal["ai_drafted"], Meta(description="Say so where a model wrote it: a person then approves it.")]
        | None
    ) = None
    provenance: ProvenanceShape = field(default_factory=ProvenanceShape)


CONTENT_CODES: Final = [
    "header_refused",
    "invalid_json",
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
COMPILE_CODES: Final = [
    *CONTENT_CODES,
    "cyclic_layout",
    "invalid_css",
    "invalid_mjml",
    "no_content_slot",
    "tag_misplaced",
    "too_many",
    "unknown_layout",
    "unknown_partial",
    "wrong_format",
    "wrong_profile",
]
WRITTEN_CODES: Final = [
    *COMPILE_CODES,
    *FILE_CODES,
    *SCHEMA_CODES,
    "duplicate_locale",
    "fallback_loop",
    "invalid_locale",
    "invalid_name",
    "missing_default_locale",
    "required",
    "unknown_field",
    "unknown_locale",
    "wrong_channel",
    "wrong_format",
]
NO_TEMPLATE: Final = ["template_not_found"]
NO_VERSION: Final = ["template_not_found", "version_not_found"]


def channel_of(call: Call[Any, Any]) -> Channel:
    channel = CHANNELS.get(call.path["channel"])
    if channel is None:
        raise NotFound("There is no template of this key and channel.", code="template_not_found")
    return channel


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
