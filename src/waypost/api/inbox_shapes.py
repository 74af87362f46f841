"""Shapes that senders and readers of the inbox share."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from waypost.api.shapes import JsonMap, Moment, Shape
from waypost.inbox.model import Action, Counts, Facts, Message, PostContent
from waypost.inbox.rules import LONGEST_BODY, LONGEST_TITLE, MOST_ACTIONS, MOST_IDS
from waypost.kernel import ids
from waypost.kernel.errors import FieldError, Refused

Title = Annotated[str, Meta(description="Plain text; markup is taken out.", examples=["Your invoice is ready"])]
Url = Annotated[str, Meta(description="http, https, or a path of your own site.", examples=["https://example.com/i/7"])]
Topic = Annotated[str, Meta(description="The key of one of your topics.", examples=["billing"])]
Ttl = Annotated[str, Meta(description="`30d`, `12h`, `15m` or `10s`; at most 730d.", examples=["30d"])]
MessageIds = Annotated[
    list[str],
    Meta(
        min_length=1,
        max_length=MOST_IDS,
        description="Messages, `pst_…`.",
        examples=[["pst_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"]],
    ),
]


class ActionShape(Shape):
    """A button below the message."""

    label: str
    url: Url | None = None
    id: Annotated[str, Meta(description="For your application to tell which one was pressed.")] | None = None


class ContentShape(Shape, kw_only=True):
    title: Annotated[Title, Meta(max_length=20 * LONGEST_TITLE)]
    body: Annotated[str, Meta(max_length=4 * LONGEST_BODY, description="Plain text; markup is taken out.")] | None = (
        None
    )
    cta_url: Url | None = None
    actions: Annotated[list[ActionShape], Meta(max_length=MOST_ACTIONS)] | None = None
    data: Annotated[JsonMap, Meta(description="For your application, up to 8 KB.")] | None = None
    sender: Annotated[str, Meta(description="Shown as the sender.")] | None = None


class FactsView(Shape):
    """What the reader did with the message. Each is a fact of its own."""

    id: str
    seen_at: Moment | None
    read_at: Moment | None
    archived_at: Moment | None
    snoozed_until: Moment | None
    pinned_at: Moment | None
    clicked_at: Moment | None


class InboxMessageView(Shape):
    id: str
    title: str
    body: str
    cta_url: str | None
    actions: list[ActionShape]
    data: JsonMap
    topic: str | None
    sender: str | None
    notification_id: Annotated[str, Meta(description="Where it came as a notification of the channel `inapp`.")] | None
    received_at: Moment
    expires_at: Moment
    seen_at: Moment | None
    read_at: Moment | None
    archived_at: Moment | None
    snoozed_until: Moment | None
    pinned_at: Moment | None
    clicked_at: Moment | None


class TallyView(Shape):
    unread: int
    total: int


class InboxCountsView(Shape):
    """Without archived and snoozed messages."""

    unread: int
    total: int
    topics: Annotated[dict[str, TallyView], Meta(description="By topic, where there is something.")]


def content_of(shape: ContentShape) -> PostContent:
    return PostContent(
        title=shape.title,
        body=shape.body or "",
        cta_url=shape.cta_url,
        actions=tuple(Action(label=one.label, url=one.url, id=one.id) for one in shape.actions or ()),
        data=shape.data or {},
        sender=shape.sender,
    )


def shown_actions(content: PostContent) -> list[ActionShape]:
    return [ActionShape(label=one.label, url=one.url, id=one.id) for one in content.actions]


def shown_message(message: Message) -> InboxMessageView:
    content, facts = message.content, message.facts
    return InboxMessageView(
        id=ids.show("pst", message.id),
        title=content.title,
        body=content.body,
        cta_url=content.cta_url,
        actions=shown_actions(content),
        data=content.data,
        topic=message.topic,
        sender=content.sender,
        notification_id=ids.show("ntf", message.id) if message.is_notification else None,
        received_at=message.received_at,
        expires_at=message.expires_at,
        seen_at=facts.seen_at or facts.read_at,  # who draws a line under everything has seen it
        read_at=facts.read_at,
        archived_at=facts.archived_at,
        snoozed_until=facts.snoozed_until,
        pinned_at=facts.pinned_at,
        clicked_at=facts.clicked_at,
    )


def shown_facts(message_id: str, facts: Facts) -> FactsView:
    return FactsView(
        id=message_id,
        seen_at=facts.seen_at or facts.read_at,  # who draws a line under everything has seen it
        read_at=facts.read_at,
        archived_at=facts.archived_at,
        snoozed_until=facts.snoozed_until,
        pinned_at=facts.pinned_at,
        clicked_at=facts.clicked_at,
    )


def shown_counts(counts: Counts) -> InboxCountsView:
    return InboxCountsView(
        unread=counts.unread,
        total=counts.total,
        topics={
            topic: TallyView(unread=tally.unread, total=tally.total)
            for topic, tally in sorted(counts.topics.items())
            if topic
        },
    )


def read_message_ids(texts: list[str], pointer: str = "/ids") -> list[UUID]:
    """Each must at least look like one of ours."""
    found = [ids.read("pst", text) for text in texts]
    errors = [
        FieldError(pointer=f"{pointer}/{place}", code="invalid_id", message="An id of a message is `pst_…`.")
        for place, one in enumerate(found)
        if one is None
    ]
    if errors:
        raise Refused(errors[0].message, code="invalid_id", errors=errors)
    return [one for one in found if one is not None]
