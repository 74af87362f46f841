"""Templates: made, read, listed, changed and archived. What they say is in their versions (`template_versions`)."""

from typing import Final

from msgspec import UNSET

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import Listing, NoBody, NoQuery
from waypost.api.template_shapes import (
    NO_TEMPLATE,
    NewTemplate,
    TemplateChange,
    TemplateQuery,
    channel_of,
)
from waypost.api.template_views import TemplateView, show_template
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS
from waypost.templates import catalog

TEMPLATE: Final = {
    "id": "tpl_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "key": "order-paid",
    "channel": "email",
    "kind": "message",
    "owner": "tenant",
    "category": "transactional",
    "topic": None,
    "default_locale": "en",
    "name": "Order paid",
    "revision": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
    "published_at": None,
    "archived_at": None,
}
_TOPIC_CODES: Final = ["invalid_key", "topic_mismatch", "unknown_topic"]


@endpoint(
    "POST",
    "/v1/templates",
    Permission.TEMPLATES_WRITE,
    summary="Make a template",
    body=NewTemplate,
    answer=TemplateView,
    status=201,
    versioned=True,
    audited=True,
    refusals={409: ["template_exists"], 422: ["invalid_locale", "invalid_name", *_TOPIC_CODES]},
    body_example={"key": "order-paid", "name": "Order paid", "category": "transactional"},
    answer_example=TEMPLATE,
)
async def create_template(call: Call[NewTemplate, NoQuery]) -> Versioned:
    """Its category wins over whatever a call to send says. The content comes with its versions. One of the same key and
    channel as a platform's takes its place for you, once it is published."""
    new = call.body
    made = await call.app.templates.catalog.create(
        call.tx,
        call.scope,
        catalog.NewTemplate(
            key=new.key,
            channel=CHANNELS[new.channel],
            category=CATEGORIES[new.category],
            topic=new.topic,
            default_locale=new.default_locale,
            name=new.name,
            kind=new.kind,
        ),
    )
    return Versioned(body=show_template(made), version=made.revision)


@endpoint(
    "GET",
    "/v1/templates",
    Permission.TEMPLATES_READ,
    summary="List templates",
    query=TemplateQuery,
    answer=Listing[TemplateView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [TEMPLATE], "next": None},
)
async def list_templates(call: Call[NoBody, TemplateQuery]) -> Listing[TemplateView]:
    """Newest first, without those that are archived."""
    query = call.query
    page = await call.app.templates.catalog.page(
        call.tx, call.scope, query.cursor, query.limit, platforms=query.owner == "platform"
    )
    return Listing(items=[show_template(template) for template in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/templates/{key}/{channel}",
    Permission.TEMPLATES_READ,
    summary="Read a template",
    answer=TemplateView,
    versioned=True,
    refusals={404: NO_TEMPLATE},
    answer_example=TEMPLATE,
)
async def get_template(call: Call[NoBody, NoQuery]) -> Versioned:
    """By its key and channel: your own; where you have none, the platform's."""
    found = await call.app.templates.catalog.get(call.tx, call.scope, call.path["key"], channel_of(call))
    return Versioned(body=show_template(found), version=found.revision)


@endpoint(
    "PATCH",
    "/v1/templates/{key}/{channel}",
    Permission.TEMPLATES_WRITE,
    summary="Change a template",
    body=TemplateChange,
    answer=TemplateView,
    versioned=True,
    audited=True,
    refusals={
        404: NO_TEMPLATE,
        422: ["category_fixed", "invalid_locale", "invalid_name", "missing_default_locale", *_TOPIC_CODES],
    },
    body_example={"name": "Order is paid"},
    answer_example=TEMPLATE | {"name": "Order is paid", "revision": 2},
)
async def change_template(call: Call[TemplateChange, NoQuery]) -> Versioned:
    """The category is fixed once something is published."""
    change = call.body
    changed = await call.app.templates.catalog.change(
        call.tx,
        call.scope,
        call.path["key"],
        channel_of(call),
        catalog.TemplateChange(
            name=change.name,
            category=UNSET if change.category is UNSET else CATEGORIES[change.category],
            topic=change.topic,
            default_locale=change.default_locale,
        ),
        revision=call.expected_version,
    )
    return Versioned(body=show_template(changed), version=changed.revision)


@endpoint(
    "POST",
    "/v1/templates/{key}/{channel}/archive",
    Permission.TEMPLATES_WRITE,
    summary="Archive a template",
    answer=TemplateView,
    versioned=True,
    audited=True,
    refusals={404: NO_TEMPLATE},
    answer_example=TEMPLATE | {"archived_at": "2026-01-15T12:00:00Z", "revision": 4},
)
async def archive_template(call: Call[NoBody, NoQuery]) -> Versioned:
    """Nothing new is sent with it, and the platform's of the same key takes its place. Publishing brings it back."""
    archived = await call.app.templates.catalog.archive(
        call.tx, call.scope, call.path["key"], channel_of(call), revision=call.expected_version
    )
    return Versioned(body=show_template(archived), version=archived.revision)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_template,
    list_templates,
    get_template,
    change_template,
    archive_template,
)
