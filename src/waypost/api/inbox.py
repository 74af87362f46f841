"""Inboxes, for the tenant."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.inbox_shapes import Ttl
from waypost.api.shapes import Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.inbox.model import (
    Inbox,
)
from waypost.kernel.tenancy import Permission


class InboxChange(Shape):
    title: str
    description: str = ""
    ttl: Annotated[dict[str, Ttl], Meta(description="How long messages stay, by topic; `default` for the rest.")] = (
        field(default_factory=dict[str, str])
    )


class InboxView(Shape):
    key: str
    title: str
    description: str
    ttl: dict[str, str]
    version: int
    created_at: Moment
    updated_at: Moment


class FiguresView(Shape):
    posts: int
    copies: Annotated[int, Meta(description="That people have of their own, without archived and snoozed ones.")]
    unread: Annotated[int, Meta(description="Of these copies.")]
    is_partial: Annotated[bool, Meta(description="There are more than 10,000 copies, and only so many were counted.")]


class InboxWithFiguresView(InboxView):
    figures: FiguresView


class DriftView(Shape):
    where: str
    counted: int
    there: int


class DriftsView(Shape):
    """What is counted wrong: nothing."""

    items: list[DriftView]
    next: None = None


_INBOX: Final[dict[str, object]] = {
    "key": "main",
    "title": "Notifications",
    "description": "",
    "ttl": {"default": "30d", "billing": "90d"},
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}


@endpoint(
    "PUT",
    "/v1/inboxes/{inbox}",
    Permission.INBOX_WRITE,
    summary="Make or change an inbox",
    body=InboxChange,
    answer=InboxView,
    versioned=True,
    audited=True,
    refusals={422: ["invalid_key", "invalid_title", "invalid_ttl", "too_long", "too_many"]},
    body_example={"title": "Notifications", "ttl": {"default": "30d", "billing": "90d"}},
    answer_example=_INBOX,
)
async def put_inbox(call: Call[InboxChange, NoQuery]) -> Versioned:
    """A message stays as long as itself says, else its topic, else `default`, else the tenant's settings, else 30d."""
    body = call.body
    made = await call.app.inbox.inboxes.put(
        call.tx, call.scope, call.path["inbox"], title=body.title, description=body.description, ttl=body.ttl
    )
    return Versioned(body=_inbox(made), version=made.version)


@endpoint(
    "GET",
    "/v1/inboxes/{inbox}",
    Permission.INBOX_READ,
    summary="Read an inbox",
    answer=InboxWithFiguresView,
    versioned=True,
    refusals={404: ["unknown_inbox"]},
    answer_example={**_INBOX, "figures": {"posts": 12, "copies": 340, "unread": 55, "is_partial": False}},
)
async def get_inbox(call: Call[NoBody, NoQuery]) -> Versioned:
    """Its title, its description, how long messages stay, and how much is in it."""
    inboxes = call.app.inbox.inboxes
    found = await inboxes.get(call.tx, call.scope, call.path["inbox"])
    counted = (await inboxes.figures(call.tx, call.scope, [found.key]))[found.key]
    figures = FiguresView(
        posts=counted.posts, copies=counted.copies, unread=counted.unread, is_partial=counted.is_partial
    )
    shown = _inbox(found)
    view = InboxWithFiguresView(**{name: getattr(shown, name) for name in shown.__struct_fields__}, figures=figures)
    return Versioned(body=view, version=found.version)


@endpoint(
    "GET",
    "/v1/inboxes",
    Permission.INBOX_READ,
    summary="List inboxes",
    query=PageQuery,
    answer=Listing[InboxView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_INBOX], "next": None},
)
async def list_inboxes(call: Call[NoBody, PageQuery]) -> Listing[InboxView]:
    """In the order of their keys."""
    page = await call.app.inbox.inboxes.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_inbox(one) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/inbox-counters",
    Permission.INBOX_READ,
    summary="Count everything again",
    answer=DriftsView,
    answer_example={"items": [], "next": None},
)
async def verify_counters(call: Call[NoBody, NoQuery]) -> DriftsView:
    """Compares what is counted with the messages themselves, in every inbox and for everyone who has used one."""
    found = await call.app.inbox.verify(call.tx, call.scope)
    return DriftsView(items=[DriftView(where=one.where, counted=one.counted, there=one.there) for one in found])


ENDPOINTS: Final[tuple[Endpoint, ...]] = (put_inbox, get_inbox, list_inboxes, verify_counters)


def _inbox(inbox: Inbox) -> InboxView:
    return InboxView(
        key=inbox.key,
        title=inbox.title,
        description=inbox.description,
        ttl=dict(inbox.ttl),
        version=inbox.version,
        created_at=inbox.created_at,
        updated_at=inbox.updated_at,
    )
