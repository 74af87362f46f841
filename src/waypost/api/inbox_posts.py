"""What is posted to inboxes, for the tenant."""

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.inbox_shapes import ActionShape, ContentShape, Topic, Ttl, content_of, shown_actions
from waypost.api.shapes import JsonMap, Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.inbox.model import (
    Audience,
    AudienceFilter,
    AudienceKind,
    Post,
    PostCommand,
    Reach,
)
from waypost.inbox.rules import MOST_USERS
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission

AudienceWord = Literal["users", "everyone", "list", "filter"]


class FilterShape(Shape):
    """Whoever fits everything that is given, at the moment of the post."""

    all_tags: list[str] = field(default_factory=list[str])
    any_tags: list[str] = field(default_factory=list[str])
    locale: str | None = None
    kind: Literal["user", "guest", "vendor", "anonymous"] | None = None


Names = Annotated[list[str], Meta(max_length=10 * MOST_USERS, description="For `users`: their ids.")]
new_names: Final = list[str]


class AudienceShape(Shape):
    kind: AudienceWord
    recipients: Names = field(default_factory=new_names)
    list: Annotated[str, Meta(description="For `list`: its key. Who is on it is frozen now.")] | None = None
    filter: FilterShape | None = None
    label: Annotated[str, Meta(description="How you call this audience; readers never see it.")] | None = None


class NewPost(ContentShape, kw_only=True):
    audience: AudienceShape
    topic: Topic | None = None
    ttl: Ttl | None = None


class PostedView(Shape):
    id: str
    recipients: Annotated[int | None, Meta(description="How many it is for; null for everyone.")]
    expires_at: Moment


class PostView(Shape):
    id: str
    audience: AudienceWord
    label: str | None
    recipients: int | None
    topic: str | None
    title: Annotated[str | None, Meta(description="Null where nobody can read it any more.")]
    body: str | None
    cta_url: str | None
    actions: list[ActionShape]
    data: JsonMap
    sender: str | None
    received_at: Moment
    expires_at: Moment
    redacted_at: Moment | None


class ReachView(Shape):
    delivered: Annotated[int, Meta(description="In how many feeds it stands.")]
    seen: int
    read: int


class PostWithReachView(PostView):
    reach: ReachView


_POST: Final[dict[str, object]] = {
    "id": "pst_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "audience": "everyone",
    "label": None,
    "recipients": None,
    "topic": "billing",
    "title": "Maintenance on Sunday",
    "body": "From 02:00 to 02:30 UTC.",
    "cta_url": "https://status.example.com",
    "actions": [],
    "data": {},
    "sender": "Example",
    "received_at": "2026-01-15T12:00:00Z",
    "expires_at": "2026-02-14T12:00:00Z",
    "redacted_at": None,
}


_REACH: Final = {"delivered": 1000, "seen": 400, "read": 250}


_CONTENT_CODES: Final = [
    "audience_too_large",
    "empty_audience",
    "invalid_audience",
    "invalid_id",
    "invalid_label",
    "invalid_sender",
    "invalid_title",
    "invalid_ttl",
    "invalid_url",
    "too_large",
    "too_long",
    "too_many",
    "unknown_list",
    "unknown_recipient",
    "unknown_topic",
]


@endpoint(
    "POST",
    "/v1/inboxes/{inbox}/posts",
    Permission.INBOX_POST,
    summary="Post a message",
    body=NewPost,
    answer=PostedView,
    status=201,
    refusals={404: ["unknown_inbox"], 422: _CONTENT_CODES},
    body_example={
        "audience": {"kind": "everyone"},
        "title": "Maintenance on Sunday",
        "body": "From 02:00 to 02:30 UTC.",
        "cta_url": "https://status.example.com",
    },
    answer_example={"id": _POST["id"], "recipients": None, "expires_at": "2026-02-14T12:00:00Z"},
)
async def post_message(call: Call[NewPost, NoQuery]) -> PostedView:
    """To listed people (a copy each), to everyone, to a list or to whoever fits a filter (stored once; who they are is
    frozen now). A post is not a notification: it passes no gate, and nobody is written to."""
    body = call.body
    command = PostCommand(audience=_audience(body.audience), content=content_of(body), topic=body.topic, ttl=body.ttl)
    posted = await call.app.inbox.posts.post(call.tx, call.scope, call.path["inbox"], command)
    return PostedView(id=ids.show("pst", posted.id), recipients=posted.copies, expires_at=posted.expires_at)


@endpoint(
    "GET",
    "/v1/inboxes/{inbox}/posts",
    Permission.INBOX_READ,
    summary="List posts",
    query=PageQuery,
    answer=Listing[PostView],
    refusals={400: ["invalid_cursor"], 404: ["unknown_inbox"]},
    answer_example={"items": [_POST], "next": None},
)
async def list_posts(call: Call[NoBody, PageQuery]) -> Listing[PostView]:
    """Newest first, as long as they stay. Notifications of the channel `inapp` are not among them."""
    page = await call.app.inbox.posts.page(call.tx, call.scope, call.path["inbox"], call.query.cursor, call.query.limit)
    return Listing(items=[_post(one) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/inboxes/{inbox}/posts/{post}",
    Permission.INBOX_READ,
    summary="Read a post and how far it reached",
    answer=PostWithReachView,
    refusals={404: ["unknown_inbox", "unknown_message"]},
    answer_example={**_POST, "reach": _REACH},
)
async def get_post(call: Call[NoBody, NoQuery]) -> PostWithReachView:
    """Exact: how many have it, have seen it, have read it."""
    post, reach = await call.app.inbox.posts.get(call.tx, call.scope, call.path["inbox"], call.id("pst", "post"))
    return _post_with_reach(post, reach)


@endpoint(
    "DELETE",
    "/v1/inboxes/{inbox}/posts/{post}",
    Permission.INBOX_POST,
    summary="Take a post back",
    status=204,
    audited=True,
    refusals={404: ["unknown_inbox", "unknown_message"]},
)
async def redact_post(call: Call[NoBody, NoQuery]) -> None:
    """From every feed and every count, for good. Its words are destroyed."""
    await call.app.inbox.posts.redact(call.tx, call.scope, call.path["inbox"], call.id("pst", "post"))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (post_message, list_posts, get_post, redact_post)


def _audience(shape: AudienceShape) -> Audience:
    chosen = shape.filter
    return Audience(
        kind=AudienceKind(shape.kind),
        recipients=shape.recipients,
        list_key=shape.list,
        filter=None
        if chosen is None
        else AudienceFilter(all_tags=chosen.all_tags, any_tags=chosen.any_tags, locale=chosen.locale, kind=chosen.kind),
        label=shape.label,
    )


def _post(post: Post) -> PostView:
    content = post.content
    return PostView(
        id=ids.show("pst", post.id),
        audience=post.audience.value,
        label=post.label,
        recipients=post.copies,
        topic=post.topic,
        title=None if content is None else content.title,
        body=None if content is None else content.body,
        cta_url=None if content is None else content.cta_url,
        actions=[] if content is None else shown_actions(content),
        data={} if content is None else content.data,
        sender=None if content is None else content.sender,
        received_at=post.received_at,
        expires_at=post.expires_at,
        redacted_at=post.redacted_at,
    )


def _post_with_reach(post: Post, reach: Reach) -> PostWithReachView:
    shown = _post(post)
    return PostWithReachView(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        reach=ReachView(delivered=reach.delivered, seen=reach.seen, read=reach.read),
    )
