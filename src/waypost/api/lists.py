"""Named sets of recipients."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.kernel.tenancy import Permission
from waypost.recipients.lists import MOST_AT_ONCE
from waypost.recipients.model import RecipientList

_Members = Annotated[
    list[Annotated[str, Meta(max_length=128)]],
    Meta(max_length=MOST_AT_ONCE, description=f"Your ids; up to {MOST_AT_ONCE:,} in all.", examples=[["user-42"]]),
]


class ListChange(Shape):
    title: (
        Annotated[str, Meta(description="For people; the key where it is left out.", examples=["Project 7"])] | None
    ) = None


class ListView(Shape):
    key: str
    title: str
    version: int
    created_at: Moment
    updated_at: Moment


class MemberView(Shape):
    id: Annotated[str, Meta(description="Your id of the recipient.")]
    added_at: Moment


class MembersChange(Shape):
    add: _Members = field(default_factory=list)
    remove: _Members = field(default_factory=list)


class MembersChangedView(Shape):
    added: Annotated[int, Meta(description="Who was not in it before.")]
    removed: int


_LIST: Final = {
    "key": "project-7",
    "title": "Project 7",
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}


@endpoint(
    "PUT",
    "/v1/lists/{key}",
    Permission.RECIPIENTS_WRITE,
    summary="Make or change a list",
    body=ListChange,
    answer=ListView,
    versioned=True,
    audited=True,
    refusals={422: ["invalid_key", "invalid_title"]},
    body_example={"title": "Project 7"},
    answer_example=_LIST,
)
async def put_list(call: Call[ListChange, NoQuery]) -> Versioned:
    """Write to all of it with `"to": {"list": "project-7"}`."""
    stored = await call.app.people.lists.put(
        call.tx, call.scope, call.path["key"], call.body.title, version=call.expected_version
    )
    return _versioned(stored)


@endpoint(
    "GET",
    "/v1/lists/{key}",
    Permission.RECIPIENTS_READ,
    summary="Read a list",
    answer=ListView,
    versioned=True,
    answer_example=_LIST,
)
async def get_list(call: Call[NoBody, NoQuery]) -> Versioned:
    """The list itself; its members are a page of their own."""
    return _versioned(await call.app.people.lists.get(call.tx, call.scope, call.path["key"]))


@endpoint(
    "GET",
    "/v1/lists",
    Permission.RECIPIENTS_READ,
    summary="List the lists",
    query=PageQuery,
    answer=Listing[ListView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_LIST], "next": None},
)
async def list_lists(call: Call[NoBody, PageQuery]) -> Listing[ListView]:
    """In the order of their keys."""
    page = await call.app.people.lists.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_view(one) for one in page.items], next=page.next)


@endpoint(
    "DELETE",
    "/v1/lists/{key}",
    Permission.RECIPIENTS_WRITE,
    summary="Remove a list",
    status=204,
    audited=True,
)
async def remove_list(call: Call[NoBody, NoQuery]) -> None:
    """The list goes, the people in it stay."""
    await call.app.people.lists.remove(call.tx, call.scope, call.path["key"])


@endpoint(
    "GET",
    "/v1/lists/{key}/members",
    Permission.RECIPIENTS_READ,
    summary="List the members of a list",
    query=PageQuery,
    answer=Listing[MemberView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [{"id": "user-42", "added_at": "2026-01-15T12:00:00Z"}], "next": None},
)
async def list_members(call: Call[NoBody, PageQuery]) -> Listing[MemberView]:
    """The newest recipients first."""
    page = await call.app.people.lists.members(
        call.tx, call.scope, call.path["key"], call.query.cursor, call.query.limit
    )
    return Listing(items=[MemberView(id=one.external_id, added_at=one.added_at) for one in page.items], next=page.next)


@endpoint(
    "POST",
    "/v1/lists/{key}/members",
    Permission.RECIPIENTS_WRITE,
    summary="Add and remove members",
    body=MembersChange,
    answer=MembersChangedView,
    audited=True,
    refusals={422: ["too_many", "unknown_recipient"]},
    body_example={"add": ["user-42", "user-43"], "remove": []},
    answer_example={"added": 2, "removed": 0},
)
async def change_members(call: Call[MembersChange, NoQuery]) -> MembersChangedView:
    """All of it or nothing: ids that nobody has are refused, and named."""
    changed = await call.app.people.lists.change_members(
        call.tx, call.scope, call.path["key"], add=call.body.add, remove=call.body.remove
    )
    return MembersChangedView(added=changed.added, removed=changed.removed)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    put_list,
    get_list,
    list_lists,
    remove_list,
    list_members,
    change_members,
)


def _versioned(stored: RecipientList) -> Versioned:
    return Versioned(body=_view(stored), version=stored.version)


def _view(stored: RecipientList) -> ListView:
    return ListView(
        key=stored.key,
        title=stored.title,
        version=stored.version,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
    )
