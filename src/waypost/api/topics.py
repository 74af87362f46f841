"""Topics: the tenant's own labels, about which people choose."""

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    Listing,
    Moment,
    NoBody,
    NoQuery,
    PageQuery,
    Shape,
    ShownCategory,
)
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS
from waypost.preferences.model import Topic
from waypost.preferences.topics import TopicFields

DefaultWord = Literal["opted_in", "opted_out"]
_IN: Final = "opted_in"
_OUT: Final = "opted_out"


class TopicChange(Shape):
    title: Annotated[str, Meta(max_length=200, examples=["Newsletter"])]
    category: CategoryWord
    default: Annotated[DefaultWord, Meta(description="What holds for who has chosen nothing.")]
    description: Annotated[str, Meta(max_length=2000)] | None = None
    mandatory: Annotated[bool, Meta(description="Nobody can turn it off. Never for marketing.")] = False
    order: Annotated[int, Meta(ge=-1_000_000, le=1_000_000, description="Lower comes first.")] = 0
    channels: Annotated[
        dict[ChannelWord, DefaultWord], Meta(description="Channels on which the default is another.")
    ] = field(default_factory=dict)


class TopicView(Shape):
    key: str
    title: str
    description: str | None
    category: ShownCategory
    default: DefaultWord
    mandatory: bool
    order: int
    channels: dict[str, DefaultWord]
    version: int
    created_at: Moment
    updated_at: Moment


_BODY: Final[dict[str, object]] = {"title": "Newsletter", "category": "marketing", "default": "opted_out"}
_TOPIC: Final[dict[str, object]] = {
    "key": "newsletter",
    "title": "Newsletter",
    "description": None,
    "category": "marketing",
    "default": "opted_out",
    "mandatory": False,
    "order": 0,
    "channels": {},
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}


@endpoint(
    "PUT",
    "/v1/topics/{key}",
    Permission.TOPICS_WRITE,
    summary="Make or change a topic",
    body=TopicChange,
    answer=TopicView,
    versioned=True,
    audited=True,
    refusals={
        422: ["category_fixed", "invalid_id", "invalid_name", "mandatory_is_in", "marketing_is_free", "too_many"],
    },
    body_example=_BODY,
    answer_example=_TOPIC,
)
async def put_topic(call: Call[TopicChange, NoQuery]) -> Versioned:
    """A topic is put whole: what is left out goes back to its default. Its category never changes."""
    body = call.body
    fields = TopicFields(
        title=body.title,
        category=CATEGORIES[body.category],
        opted_in=body.default == _IN,
        description=body.description,
        mandatory=body.mandatory,
        position=body.order,
        channels={CHANNELS[word]: default == _IN for word, default in body.channels.items()},
    )
    topic = await call.app.wishes.topics.put(
        call.tx, call.scope, call.path["key"], fields, version=call.expected_version
    )
    return _versioned(topic)


@endpoint(
    "GET",
    "/v1/topics/{key}",
    Permission.TOPICS_READ,
    summary="Read a topic",
    answer=TopicView,
    versioned=True,
    answer_example=_TOPIC,
)
async def get_topic(call: Call[NoBody, NoQuery]) -> Versioned:
    return _versioned(await call.app.wishes.topics.get(call.tx, call.scope, call.path["key"]))


@endpoint(
    "GET",
    "/v1/topics",
    Permission.TOPICS_READ,
    summary="List topics",
    query=PageQuery,
    answer=Listing[TopicView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_TOPIC], "next": None},
)
async def list_topics(call: Call[NoBody, PageQuery]) -> Listing[TopicView]:
    """In the tenant's order: by `order`, then by key."""
    page = await call.app.wishes.topics.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_topic(topic) for topic in page.items], next=page.next)


@endpoint(
    "DELETE",
    "/v1/topics/{key}",
    Permission.TOPICS_WRITE,
    summary="Delete a topic",
    status=204,
    audited=True,
)
async def delete_topic(call: Call[NoBody, NoQuery]) -> None:
    """What people have chosen about it stays: should a topic of this key come back, an opt-out still holds."""
    await call.app.wishes.topics.delete(call.tx, call.scope, call.path["key"])


ENDPOINTS: Final[tuple[Endpoint, ...]] = (put_topic, get_topic, list_topics, delete_topic)


def _versioned(topic: Topic) -> Versioned:
    return Versioned(body=_topic(topic), version=topic.version)


def _topic(topic: Topic) -> TopicView:
    return TopicView(
        key=topic.key,
        title=topic.title,
        description=topic.description,
        category=topic.category.word,
        default=_word(topic.opted_in),
        mandatory=topic.mandatory,
        order=topic.position,
        channels={channel.word: _word(on) for channel, on in sorted(topic.channels.items())},
        version=topic.version,
        created_at=topic.created_at,
        updated_at=topic.updated_at,
    )


def _word(opted_in: bool) -> DefaultWord:  # noqa: FBT001 — a word for a switch
    return _IN if opted_in else _OUT
