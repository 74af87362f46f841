"""A recipient's own inbox, by their token."""

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, Raw, endpoint
from waypost.api.inbox_shapes import (
    FactsView,
    InboxCountsView,
    InboxMessageView,
    MessageIds,
    Topic,
    read_message_ids,
    shown_counts,
    shown_facts,
    shown_message,
)
from waypost.api.live.wire import catch_up, sse
from waypost.api.moments import utc
from waypost.api.shapes import Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.inbox.changes import read_cursor
from waypost.inbox.model import Act, FeedFilter
from waypost.kernel import ids
from waypost.kernel.errors import refuse

_STREAM: Final = "text/event-stream"


class FeedQuery(PageQuery):
    unread: bool = False
    topic: Topic | None = None
    archived: bool = False
    snoozed: bool = False
    pinned: bool = False


class ActBody(Shape):
    ids: MessageIds


class ReadBody(Shape):
    """Either `ids` or `before`."""

    ids: MessageIds | None = None
    before: (
        Annotated[str, Meta(description="A message's id or a time: everything up to it, itself included.")] | None
    ) = None
    after: Annotated[str, Meta(description="The same as `before`, as it was called elsewhere.")] | None = None


class SnoozeBody(Shape):
    ids: MessageIds
    until: Moment


class ActedView(Shape):
    items: list[FactsView]
    missing: Annotated[list[str], Meta(description="What is not there, or not any more.")]


class ReadView(ActedView):
    before: Annotated[str | None, Meta(description="As it was asked for.")] = None
    read_at: Annotated[Moment | None, Meta(description="When everything up to there was read.")] = None


class MyInboxView(Shape):
    key: str
    title: str
    description: str


class MeView(Shape):
    recipient: str
    expires_at: Annotated[Moment, Meta(description="When the token runs out.")]
    stream_url: Annotated[str, Meta(description="Where streams are served: put `/v1/me/inboxes/…/stream` behind it.")]
    inboxes: list[MyInboxView]


class StreamQuery(Shape):
    last_event_id: Annotated[str, Meta(description="The id of the last event that arrived.")] | None = None


_MESSAGE: Final[dict[str, object]] = {
    "id": "pst_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "title": "Your invoice is ready",
    "body": "",
    "cta_url": "https://example.com/invoices/7",
    "actions": [],
    "data": {},
    "topic": "billing",
    "sender": "Example",
    "notification_id": None,
    "received_at": "2026-01-15T12:00:00Z",
    "expires_at": "2026-02-14T12:00:00Z",
    "seen_at": None,
    "read_at": None,
    "archived_at": None,
    "snoozed_until": None,
    "pinned_at": None,
    "clicked_at": None,
}
_FACTS: Final[dict[str, object]] = {
    "id": _MESSAGE["id"],
    "seen_at": "2026-01-15T12:05:00Z",
    "read_at": "2026-01-15T12:05:00Z",
    "archived_at": None,
    "snoozed_until": None,
    "pinned_at": None,
    "clicked_at": None,
}
_IDS: Final = {"ids": [_MESSAGE["id"]]}
_ACTED: Final = {"items": [_FACTS], "missing": []}
_COUNTS: Final = {"unread": 3, "total": 10, "topics": {"billing": {"unread": 1, "total": 2}}}


@endpoint(
    "GET",
    "/v1/me",
    None,
    summary="Who am I",
    answer=MeView,
    caller="recipient",
    answer_example={
        "recipient": "user-42",
        "expires_at": "2026-01-15T13:00:00Z",
        "stream_url": "https://stream.example.com",
        "inboxes": [{"key": "main", "title": "Notifications", "description": ""}],
    },
)
async def who_am_i(call: Call[NoBody, NoQuery]) -> MeView:
    """Whom the token speaks for, until when, and where streams are."""
    found = await call.app.inbox.inboxes.all(call.tx)
    return MeView(
        recipient=call.me.external_id,
        expires_at=call.me.expires_at,
        stream_url=call.app.settings.live_url,
        inboxes=[MyInboxView(key=one.key, title=one.title, description=one.description) for one in found],
    )


@endpoint(
    "GET",
    "/v1/me/inboxes/{inbox}/messages",
    None,
    summary="Read my messages",
    query=FeedQuery,
    answer=Listing[InboxMessageView],
    caller="recipient",
    refusals={400: ["invalid_cursor"], 404: ["unknown_inbox"], 422: ["unknown_topic"]},
    answer_example={"items": [_MESSAGE], "next": None},
)
async def list_my_messages(call: Call[NoBody, FeedQuery]) -> Listing[InboxMessageView]:
    """Newest first, own messages and those for everyone. Without archived and snoozed ones unless asked for."""
    query = call.query
    wanted = FeedFilter(
        unread=query.unread,
        topic=query.topic,
        archived=query.archived,
        snoozed=query.snoozed,
        pinned=query.pinned,
    )
    page = await call.app.inbox.feed.page(call.tx, call.me, call.path["inbox"], wanted, query.cursor, query.limit)
    return Listing(items=[shown_message(one) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/me/inboxes/{inbox}/messages/{post}",
    None,
    summary="Read one of my messages",
    answer=InboxMessageView,
    caller="recipient",
    refusals={404: ["unknown_message"]},
    answer_example=_MESSAGE,
)
async def get_my_message(call: Call[NoBody, NoQuery]) -> InboxMessageView:
    """Also archived and snoozed ones. To read it here does not mark it read."""
    return shown_message(await call.app.inbox.feed.get(call.tx, call.me, call.path["inbox"], call.id("pst", "post")))


@endpoint(
    "GET",
    "/v1/me/inboxes/{inbox}/counts",
    None,
    summary="Count my messages",
    answer=InboxCountsView,
    caller="recipient",
    refusals={404: ["unknown_inbox"]},
    answer_example=_COUNTS,
)
async def count_my_messages(call: Call[NoBody, NoQuery]) -> InboxCountsView:
    """Exact at every moment. What has expired is not counted, whether it was swept away or not."""
    return shown_counts(await call.app.inbox.feed.counts(call.tx, call.me, call.path["inbox"]))


@endpoint(
    "POST",
    "/v1/me/inboxes/{inbox}/read",
    None,
    summary="Mark messages read",
    body=ReadBody,
    answer=ReadView,
    caller="recipient",
    refusals={
        404: ["unknown_inbox", "unknown_message"],
        422: ["either_or", "invalid_before", "invalid_id", "too_many"],
    },
    body_example=_IDS,
    answer_example={**_ACTED, "before": None, "read_at": None},
)
async def read_messages(call: Call[ReadBody, NoQuery]) -> ReadView:
    """Named messages, or everything up to a message or a time. The first time of reading stays, however often."""
    body, feed, inbox = call.body, call.app.inbox.feed, call.path["inbox"]
    if sum(each is not None for each in (body.ids, body.before, body.after)) != 1:
        raise refuse("/before", "either_or", "Give ids, or before, and not both.")
    if (before := body.before or body.after) is not None:
        drawn = await feed.read_before(call.tx, call.me, inbox, _before(before))
        return ReadView(items=[], missing=[], before=before, read_at=drawn.at)
    done = await _act(call, Act.READ, body.ids or [])
    return ReadView(items=done.items, missing=done.missing)


@endpoint(
    "POST",
    "/v1/me/inboxes/{inbox}/snooze",
    None,
    summary="Snooze messages",
    body=SnoozeBody,
    answer=ActedView,
    caller="recipient",
    refusals={404: ["unknown_inbox", "unknown_message"], 422: ["invalid_id", "too_many"]},
    body_example={**_IDS, "until": "2026-01-16T08:00:00Z"},
    answer_example=_ACTED,
)
async def snooze_messages(call: Call[SnoozeBody, NoQuery]) -> ActedView:
    """Out of the feed and out of every count until then."""
    return await _act(call, Act.SNOOZE, call.body.ids, call.body.until)


def _plain_act(act: Act, summary: str, sentence: str) -> Endpoint:
    async def use(call: Call[ActBody, NoQuery]) -> ActedView:
        return await _act(call, act, call.body.ids)

    use.__name__ = f"{act.value}_messages"
    use.__doc__ = sentence
    declare: Callable[[Callable[[Call[ActBody, NoQuery]], Coroutine[Any, Any, ActedView]]], Endpoint] = endpoint(
        "POST",
        f"/v1/me/inboxes/{{inbox}}/{act.value}",
        None,
        summary=summary,
        body=ActBody,
        answer=ActedView,
        caller="recipient",
        refusals={404: ["unknown_inbox", "unknown_message"], 422: ["invalid_id", "too_many"]},
        body_example=_IDS,
        answer_example=_ACTED,
    )
    return declare(use)


@endpoint(
    "GET",
    "/v1/me/inboxes/{inbox}/stream",
    None,
    summary="Follow my inbox",
    query=StreamQuery,
    media_type=_STREAM,
    caller="recipient",
    refusals={404: ["unknown_inbox"], 422: ["invalid_cursor"]},
)
async def stream_my_inbox(call: Call[NoBody, StreamQuery]) -> Raw:
    """Server-sent events: `hello`, `message`, `change`, `read_all`, `removed`, `reset`, `counts`. Where `stream_url`
    leads the stream stays open (and speaks WebSocket too); here it tells what has changed since, and ends."""
    cursor = read_cursor(call.last_event_id or call.query.last_event_id)
    events = await catch_up(call.app, call.tx, call.me, call.path["inbox"], cursor)
    return Raw(content=b"retry: 5000\n\n" + b"".join(sse(one) for one in events), media_type=_STREAM, is_download=False)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    who_am_i,
    list_my_messages,
    get_my_message,
    count_my_messages,
    read_messages,
    _plain_act(Act.UNREAD, "Mark messages unread", "They count again; reading them later is a new first time."),
    _plain_act(Act.SEEN, "Mark messages seen", "Shown on a screen, not necessarily read."),
    _plain_act(Act.ARCHIVE, "Archive messages", "Out of the feed and out of every count; `archived=true` lists them."),
    _plain_act(Act.UNARCHIVE, "Bring messages back", "Out of the archive, as read or unread as they were."),
    snooze_messages,
    _plain_act(Act.UNSNOOZE, "Wake messages", "Before their time."),
    _plain_act(Act.PIN, "Pin messages", "`pinned=true` lists them."),
    _plain_act(Act.UNPIN, "Unpin messages", "They stay where they are in the feed."),
    _plain_act(Act.CLICK, "Note a click", "On the message's link or one of its actions."),
    stream_my_inbox,
)


async def _act(call: Call[Any, Any], act: Act, texts: list[str], until: datetime | None = None) -> ActedView:
    acted = await call.app.inbox.feed.act(call.tx, call.me, call.path["inbox"], act, read_message_ids(texts), until)
    return ActedView(
        items=[shown_facts(ids.show("pst", one), facts) for one, facts in acted.done],
        missing=[ids.show("pst", one) for one in acted.missing],
    )


def _before(text: str) -> UUID | datetime:
    found = ids.read("pst", text)
    if found is not None:
        return found
    try:
        moment = msgspec.convert(text, Moment, strict=False)
    except msgspec.ValidationError:
        message = "Write the id of a message, `pst_…`, or a time with an offset."
        raise refuse("/before", "invalid_before", message) from None
    return utc(moment, "/before")
