"""How a call to send is written, and how notifications are shown."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from waypost.api.file_shapes import AttachmentShape, FileView, new_files, show_files
from waypost.api.recipient_shapes import Attributes, Email, Locale, Phone, Timezone
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    JsonMap,
    Moment,
    PageQuery,
    PriorityWord,
    Shape,
    ShownCategory,
    ShownChannel,
    ShownPriority,
)
from waypost.api.template_shapes import ContentShape
from waypost.api.tracking_shapes import TrackingShape
from waypost.delivery.model import State
from waypost.kernel import ids
from waypost.kernel.durations import read_duration
from waypost.kernel.errors import refuse
from waypost.kernel.tracking import UNSAID
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES, Channel
from waypost.notifications.model import (
    Accepted,
    AcceptedNotification,
    Detail,
    Filter,
    Once,
    Routing,
    ShownContent,
    SubmitCommand,
    Summary,
    TimelineStep,
)
from waypost.recipients.model import RecipientFields, Target
from waypost.templates.model import Content, InlineSource

StateWord = Literal[
    "scheduled",
    "queued",
    "dispatching",
    "dispatched",
    "delivered",
    "bounced",
    "failed",
    "suppressed",
    "cancelled",
    "expired",
    "unconfirmed",
]
STATES: Final = {state.word: state for state in State}
# By number: a word for each of ten thousand must not be made each time.
_STATE_WORDS: Final = {int(state): state.word for state in State}
_CHANNEL_WORDS: Final = {int(channel): channel.word for channel in Channel}
ShownState = Annotated[str, Meta(extra_json_schema={"enum": list(STATES)})]
_Mailbox = Annotated[str, Meta(description="An address, or `Name <address>`.", examples=["Acme <hello@example.com>"])]


RoutingWord = Literal["all", "first", "until_seen"]
_ALONE: Final = {word: (channel,) for word, channel in CHANNELS.items()}
_ROUTINGS: Final = {routing.value: routing for routing in Routing}


class To(Shape):
    """Someone to reach. With an id: merged into the recipient of that id, or made. Without: found by the address.
    Or, with `list` alone, everyone in a list."""

    id: Annotated[str, Meta(description="Yours; letters, digits and `._:@|+=~-`.", examples=["user-42"])] | None = None
    email: Email | UnsetType | None = UNSET
    phone: Phone | UnsetType | None = UNSET
    locale: Locale | UnsetType | None = UNSET
    timezone: Timezone | UnsetType | None = UNSET
    attributes: Attributes | UnsetType | None = UNSET
    list_key: (
        Annotated[str, Meta(max_length=100, description="The key of a list of up to 1,000.", examples=["project-7"])]
        | None
    ) = field(default=None, name="list")


class NewNotification(Shape):
    """Who, what, and if it matters when and how. Give either `content` or `template`."""

    to: Annotated[
        str | To | list[str | To],
        Meta(description="The id of a recipient that is known, an object, or a list of up to 1,000 of these."),
    ]
    actor: (
        Annotated[str, Meta(max_length=128, description="Your id of who caused it; left out where `to` names them.")]
        | None
    ) = None
    content: ContentShape | None = None
    template: Annotated[str, Meta(description="The key of a published template.")] | None = None
    variables: Annotated[JsonMap, Meta(description="Above the recipient's attributes.")] = field(default_factory=dict)
    channel: Annotated[ChannelWord, Meta(description="`email` where neither it nor `channels` is given.")] | None = None
    channels: (
        Annotated[
            list[ChannelWord],
            Meta(min_length=1, description="Several instead of one `channel`, in the order of preference."),
        ]
        | None
    ) = None
    routing: Annotated[
        RoutingWord,
        Meta(
            description="`all`: on each channel. `first`: on the first on which the person can be reached. "
            "`until_seen`: on the first, and on the next each time `after` has passed and none has been seen."
        ),
    ] = "all"
    after: Annotated[str, Meta(description="With `until_seen`: how long to wait.", examples=["10m"])] | None = None
    category: (
        Annotated[
            CategoryWord, Meta(description="Where neither template nor topic says it; another than theirs is refused.")
        ]
        | None
    ) = None
    topic: Annotated[str, Meta(max_length=64, description="One of your topics; a template's own wins.")] | None = None
    priority: PriorityWord = "normal"
    send_at: Annotated[Moment, Meta(description="Not before; now where it is left out.")] | None = None
    expires_at: Annotated[Moment, Meta(description="Not after; what is late ends as `expired`.")] | None = None
    sender: _Mailbox | None = field(default=None, name="from")
    reply_to: _Mailbox | None = None
    cc: list[_Mailbox] = field(default_factory=list)
    bcc: list[_Mailbox] = field(default_factory=list)
    headers: Annotated[dict[str, str], Meta(description="Further headers.")] = field(default_factory=dict)
    attachments: Annotated[list[AttachmentShape], Meta(description="Of emails; other channels leave them out.")] = (
        field(default_factory=list)
    )
    metadata: Annotated[JsonMap, Meta(description="Yours; up to 16 KB.")] = field(default_factory=dict)
    tracking: Annotated[TrackingShape, Meta(description="Above what template and settings say.")] | None = None


ITS_OWN: Final = ("to", "variables", "metadata")
"""In which of many messages those to different people mostly differ."""


class AcceptedNotificationView(Shape, omit_defaults=True):
    id: str
    recipient_id: str
    channel: ShownChannel
    status: ShownState
    reason: Annotated[str, Meta(description="Why it will not be sent, or not yet.")] | None = None


class AcceptedView(Shape):
    request_id: str
    notifications: list[AcceptedNotificationView]


class NotificationQuery(PageQuery):
    status: StateWord | None = None
    recipient_id: Annotated[str, Meta(description="Your id of the recipient.")] | None = None
    channel: ChannelWord | None = None
    category: CategoryWord | None = None
    created_from: Annotated[Moment, Meta(description="Made at this time or later.")] | None = None
    created_before: Annotated[Moment, Meta(description="Made before this time.")] | None = None


class NotificationView(Shape):
    id: str
    request_id: str
    recipient_id: str
    channel: ShownChannel
    category: ShownCategory
    priority: ShownPriority
    template: str | None
    status: ShownState
    reason: str | None
    attempts: int
    send_at: Moment
    expires_at: Moment
    created_at: Moment


class NotificationDetailView(NotificationView):
    to: Annotated[str, Meta(description="Masked; null once the recipient has been erased.")] | None
    metadata: JsonMap
    resend_of: Annotated[str, Meta(description="Which notification was sent again by this one.")] | None


class RequestView(Shape):
    id: str
    notifications: list[NotificationView]


class TimelineStepView(Shape):
    at: Moment
    event: str
    reason: str | None
    detail: JsonMap


class TimelineView(Shape):
    items: list[TimelineStepView]
    next: None = None


class ContentView(Shape):
    subject: str
    html: str | None
    text: str
    sender: str = field(name="from")
    to: Annotated[str, Meta(description="Masked.")] | None
    headers: dict[str, str]
    attachments: list[FileView]


def command_of(body: NewNotification, idempotency_key: str | None) -> SubmitCommand:
    return command_like(message_of(body), body, idempotency_key)


def command_like(message: SubmitCommand, body: NewNotification, idempotency_key: str | None) -> SubmitCommand:
    """The command of a body that says the same as the one of which `message` was made, except in `ITS_OWN`."""
    to = body.to
    return replace(
        message,
        to=_targets(to),
        to_is_list=isinstance(to, list),
        to_list=to.list_key if isinstance(to, To) else None,
        variables=body.variables,
        metadata=body.metadata,
        once=Once.of_call(idempotency_key),
    )


def asked_for(body: NewNotification) -> tuple[object, ...]:
    """All of which the message is made: all but `ITS_OWN`. Told one by one: the general way takes ten times as long."""
    return (
        body.content,
        body.template,
        body.send_at,
        body.expires_at,
        body.category,
        body.topic,
        body.priority,
        body.channel,
        body.channels,
        body.routing,
        body.after,
        body.actor,
        body.sender,
        body.reply_to,
        body.cc,
        body.bcc,
        body.headers,
        body.attachments,
        body.tracking,
    )


def message_of(body: NewNotification) -> SubmitCommand:
    """What is to be sent, to nobody yet."""
    if body.channel is not None and body.channels is not None:
        raise refuse("/channels", "channel_or_channels", "Give either `channel` or `channels`, not both.")
    content = body.content.content() if body.content else None
    return SubmitCommand(
        to=(),
        actor=body.actor,
        channels=tuple([CHANNELS[word] for word in body.channels])
        if body.channels
        else _ALONE[body.channel or "email"],
        routing=_ROUTINGS[body.routing],
        after=_after(body.after) if body.after is not None else None,
        content=content if isinstance(content, Content) else None,
        inline=content if isinstance(content, InlineSource) else None,
        template=body.template,
        category=CATEGORIES[body.category] if body.category else None,
        topic=body.topic,
        priority=PRIORITIES[body.priority],
        send_at=body.send_at,
        expires_at=body.expires_at,
        sender=body.sender,
        reply_to=body.reply_to,
        cc=tuple(body.cc),
        bcc=tuple(body.bcc),
        headers=tuple(body.headers.items()) if body.headers else (),
        attachments=new_files(body.attachments, "/attachments") if body.attachments else (),
        tracking=UNSAID if body.tracking is None else body.tracking.tracking(),
    )


def _after(text: str | None) -> timedelta | None:
    if text is None:
        return None
    duration = read_duration(text)
    if duration is None:
        raise refuse("/after", "invalid_duration", "Write a duration such as `30d`, `2h`, `15m` or `10s`.")
    return duration.elapsed


def _targets(to: str | To | list[str | To]) -> tuple[Target, ...]:
    """Nobody where a list is named."""
    if isinstance(to, list):
        return tuple([_target(member, alone=False) for member in to])
    if isinstance(to, To) and to.list_key is not None and to == To(list_key=to.list_key):
        return ()
    return (_target(to),)


def _target(member: str | To, *, alone: bool = True) -> Target:
    if isinstance(member, str):
        return Target(id=member, must_exist=True)
    if member.list_key is not None:
        raise refuse("/to/list" if alone else "/to", "list_alone", 'A list is given alone: `{"list": …}`.')
    fields = RecipientFields(
        email=member.email,
        phone=member.phone,
        locale=member.locale,
        timezone=member.timezone,
        attributes=member.attributes,
    )
    return Target(id=member.id, fields=fields)


def filter_of(query: NotificationQuery) -> Filter:
    return Filter(
        status=STATES[query.status] if query.status else None,
        recipient_id=query.recipient_id,
        channel=CHANNELS[query.channel] if query.channel else None,
        category=CATEGORIES[query.category] if query.category else None,
        created_from=query.created_from,
        created_before=query.created_before,
    )


def show_accepted(accepted: Accepted) -> AcceptedView:
    return AcceptedView(
        request_id=ids.show("req", accepted.request_id),
        notifications=[show_notification(one) for one in accepted.notifications],
    )


def show_notification(one: AcceptedNotification) -> AcceptedNotificationView:
    return AcceptedNotificationView(
        id=ids.show_once("ntf", one.id),
        recipient_id=one.recipient_id,
        channel=_CHANNEL_WORDS[one.channel],
        status=_STATE_WORDS[one.status],
        reason=one.reason,
    )


def show_summary(summary: Summary) -> NotificationView:
    return NotificationView(
        id=ids.show("ntf", summary.id),
        request_id=ids.show("req", summary.request_id),
        recipient_id=summary.recipient_id,
        channel=summary.channel.word,
        category=summary.category.word,
        priority=summary.priority.word,
        template=summary.template,
        status=summary.status.word,
        reason=summary.reason,
        attempts=summary.attempts,
        send_at=summary.send_at,
        expires_at=summary.expires_at,
        created_at=summary.created_at,
    )


def show_detail(detail: Detail) -> NotificationDetailView:
    shown = show_summary(detail.summary)
    return NotificationDetailView(
        **{name: getattr(shown, name) for name in NotificationView.__struct_fields__},
        to=detail.to,
        metadata=dict(detail.metadata),
        resend_of=None if detail.resend_of is None else ids.show("ntf", detail.resend_of),
    )


def show_step(step: TimelineStep) -> TimelineStepView:
    return TimelineStepView(at=step.at, event=step.event, reason=step.reason, detail=dict(step.detail))


def show_content(content: ShownContent) -> ContentView:
    return ContentView(
        subject=content.subject,
        html=content.html,
        text=content.text,
        sender=content.sender,
        to=content.to,
        headers=dict(content.headers),
        attachments=show_files(content.files),
    )
