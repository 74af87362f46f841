"""Templates, their versions, and trying them out."""

import re
from typing import Annotated, Any, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    JsonMap,
    Listing,
    Moment,
    NoBody,
    NoQuery,
    PageQuery,
    Shape,
    ShownCategory,
    ShownChannel,
)
from waypost.kernel import ids
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, Channel
from waypost.templates.model import Content, Template, Version, VersionState

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}\Z")


class ContentShape(Shape):
    """`html`, `text` or both; a missing text is made from the HTML."""

    subject: Annotated[str, Meta(examples=["Order {{ order }} is paid"])]
    html: str | None = None
    text: str | None = None

    def content(self) -> Content:
        return Content(subject=self.subject, html=self.html, text=self.text)


class NewTemplate(Shape):
    key: Annotated[
        str, Meta(description="1 to 100 lower-case letters, digits, `.`, `_`, `-`.", examples=["order-paid"])
    ]
    name: str
    category: CategoryWord
    channel: ChannelWord = "email"


class TemplateView(Shape):
    id: str
    key: str
    channel: ShownChannel
    category: ShownCategory
    name: str
    created_at: Moment
    updated_at: Moment


class NewVersion(Shape):
    content: ContentShape
    variables_schema: Annotated[JsonMap, Meta(description="A JSON Schema of the variables.")] | None = None


class VersionView(Shape):
    id: str
    number: int
    state: VersionState
    content: ContentShape
    variables_schema: JsonMap | None
    created_at: Moment
    published_at: Moment | None


class Preview(Shape):
    variables: JsonMap = field(default_factory=dict)


class RenderedView(Shape):
    subject: str
    html: str | None
    text: str


_TEMPLATE: Final = {
    "id": "tpl_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "key": "order-paid",
    "channel": "email",
    "category": "transactional",
    "name": "Order paid",
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}
_CONTENT: Final = {"subject": "Order {{ order }} is paid", "html": "<p>Thank you.</p>", "text": None}
_VERSION: Final = {
    "id": "tpv_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "number": 1,
    "state": "draft",
    "content": _CONTENT,
    "variables_schema": {"type": "object", "required": ["order"]},
    "created_at": "2026-01-15T12:00:00Z",
    "published_at": None,
}
_RENDERED: Final = {"subject": "Order 7 is paid", "html": "<p>Thank you.</p>", "text": "Thank you."}
_NO_TEMPLATE: Final = ["template_not_found"]
_NO_VERSION: Final = ["template_not_found", "version_not_found"]
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


@endpoint(
    "POST",
    "/v1/templates",
    Permission.TEMPLATES_WRITE,
    summary="Make a template",
    body=NewTemplate,
    answer=TemplateView,
    status=201,
    audited=True,
    refusals={409: ["template_exists"], 422: ["invalid_key", "invalid_name"]},
    body_example={"key": "order-paid", "name": "Order paid", "category": "transactional"},
    answer_example=_TEMPLATE,
)
async def create_template(call: Call[NewTemplate, NoQuery]) -> TemplateView:
    """Its category wins over whatever a call to send says. The content comes with its versions."""
    new = call.body
    made = await call.app.templates.create(
        call.tx,
        call.scope,
        key=new.key,
        channel=CHANNELS[new.channel],
        category=CATEGORIES[new.category],
        name=new.name,
    )
    return _template(made)


@endpoint(
    "GET",
    "/v1/templates",
    Permission.TEMPLATES_READ,
    summary="List templates",
    query=PageQuery,
    answer=Listing[TemplateView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_TEMPLATE], "next": None},
)
async def list_templates(call: Call[NoBody, PageQuery]) -> Listing[TemplateView]:
    """Newest first."""
    page = await call.app.templates.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_template(template) for template in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/templates/{key}/{channel}",
    Permission.TEMPLATES_READ,
    summary="Read a template",
    answer=TemplateView,
    refusals={404: _NO_TEMPLATE},
    answer_example=_TEMPLATE,
)
async def get_template(call: Call[NoBody, NoQuery]) -> TemplateView:
    """By its key and channel."""
    found = await call.app.templates.get(call.tx, call.scope, key=call.path["key"], channel=_channel(call))
    return _template(found)


@endpoint(
    "POST",
    "/v1/templates/{key}/{channel}/versions",
    Permission.TEMPLATES_WRITE,
    summary="Add a draft",
    body=NewVersion,
    answer=VersionView,
    status=201,
    audited=True,
    refusals={404: _NO_TEMPLATE, 422: [*CONTENT_CODES, *SCHEMA_CODES]},
    body_example={"content": {"subject": "Order {{ order }} is paid", "html": "<p>Thank you.</p>"}},
    answer_example=_VERSION,
)
async def create_version(call: Call[NewVersion, NoQuery]) -> VersionView:
    """Checked now, sent by nobody until it is published. A variable marked `writeOnly` is forgotten once it is sent."""
    made = await call.app.templates.add_draft(
        call.tx,
        call.scope,
        key=call.path["key"],
        channel=_channel(call),
        content=call.body.content.content(),
        variables_schema=call.body.variables_schema,
    )
    return _version(made)


@endpoint(
    "GET",
    "/v1/templates/{key}/{channel}/versions",
    Permission.TEMPLATES_READ,
    summary="List a template's versions",
    query=PageQuery,
    answer=Listing[VersionView],
    refusals={400: ["invalid_cursor"], 404: _NO_TEMPLATE},
    answer_example={"items": [_VERSION], "next": None},
)
async def list_versions(call: Call[NoBody, PageQuery]) -> Listing[VersionView]:
    """Newest first."""
    page = await call.app.templates.versions(
        call.tx,
        call.scope,
        key=call.path["key"],
        channel=_channel(call),
        cursor=call.query.cursor,
        limit=call.query.limit,
    )
    return Listing(items=[_version(version) for version in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/templates/{key}/{channel}/versions/{number}",
    Permission.TEMPLATES_READ,
    summary="Read a version",
    answer=VersionView,
    refusals={404: _NO_VERSION},
    answer_example=_VERSION,
)
async def get_version(call: Call[NoBody, NoQuery]) -> VersionView:
    """A published version never changes."""
    found = await call.app.templates.version(
        call.tx, call.scope, key=call.path["key"], channel=_channel(call), number=_number(call)
    )
    return _version(found)


@endpoint(
    "POST",
    "/v1/templates/{key}/{channel}/versions/{number}/publish",
    Permission.TEMPLATES_WRITE,
    summary="Publish a draft",
    answer=VersionView,
    audited=True,
    refusals={404: _NO_VERSION, 409: ["illegal_transition"], 422: CONTENT_CODES},
    answer_example=_VERSION | {"state": "active", "published_at": "2026-01-15T12:00:00Z"},
)
async def publish_version(call: Call[NoBody, NoQuery]) -> VersionView:
    """Sent from now on. What was accepted before is sent with the version it was accepted with."""
    published = await call.app.templates.publish(
        call.tx, call.scope, key=call.path["key"], channel=_channel(call), number=_number(call)
    )
    return _version(published)


@endpoint(
    "POST",
    "/v1/templates/{key}/{channel}/versions/{number}/preview",
    Permission.TEMPLATES_READ,
    summary="Try a version with sample variables",
    body=Preview,
    answer=RenderedView,
    refusals={404: _NO_VERSION, 422: [*CONTENT_CODES, "invalid_variables"]},
    body_example={"variables": {"order": 7}},
    answer_example=_RENDERED,
)
async def preview_version(call: Call[Preview, NoQuery]) -> RenderedView:
    """Nothing is sent and nothing is stored."""
    parts = await call.app.templates.preview(
        call.tx,
        call.scope,
        key=call.path["key"],
        channel=_channel(call),
        number=_number(call),
        variables=call.body.variables,
    )
    return RenderedView(subject=parts.subject, html=parts.html, text=parts.text)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_template,
    list_templates,
    get_template,
    create_version,
    list_versions,
    get_version,
    publish_version,
    preview_version,
)


def _channel(call: Call[Any, Any]) -> Channel:
    channel = CHANNELS.get(call.path["channel"])
    if channel is None:
        raise NotFound("There is no template of this key and channel.", code="template_not_found")
    return channel


def _number(call: Call[Any, Any]) -> int:
    if not _NUMBER.match(call.path["number"]):
        raise NotFound("This template has no version of this number.", code="version_not_found")
    return int(call.path["number"])


def _template(template: Template) -> TemplateView:
    return TemplateView(
        id=ids.show("tpl", template.id),
        key=template.key,
        channel=template.channel.word,
        category=template.category.word,
        name=template.name,
        created_at=template.created_at,
        updated_at=template.updated_at,
    )


def _version(version: Version) -> VersionView:
    content = version.content
    return VersionView(
        id=ids.show("tpv", version.id),
        number=version.number or 0,
        state=version.state,
        content=ContentShape(subject=content.subject, html=content.html, text=content.text),
        variables_schema=version.variables_schema,
        created_at=version.created_at,
        published_at=version.published_at,
    )
