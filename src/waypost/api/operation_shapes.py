"""What requests and answers about operations look like."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    Moment,
    PageQuery,
    Shape,
    ShownCategory,
    ShownChannel,
    ShownPriority,
)
from waypost.delivery.dead_letter_model import WORDS, DeadLetter, DeadLetterFilter, DeadLetterReason, Redriven
from waypost.delivery.dead_letter_model import RedriveResult as Result
from waypost.delivery.pause_model import Pause, PauseScope
from waypost.delivery.pauses import shown_subject
from waypost.delivery.queue_view import LaneView, QueueStanding
from waypost.kernel import ids
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS


class NewPause(Shape):
    scope: PauseScope
    id: (
        Annotated[
            str,
            Meta(
                max_length=128,
                description="A channel, a category, `acc_…`, `dbt_…`; for the scope `tenant` the tenant's id, or "
                "nothing for your own.",
                examples=["email"],
            ),
        ]
        | None
    ) = None
    reason: Annotated[str, Meta(description="For people; at most 500 characters.")] | None = None


class PauseQuery(PageQuery):
    tenant: Annotated[str, Meta(max_length=63, description="For platform keys: whose pauses.")] | None = None


class PauseView(Shape):
    id: str
    scope: PauseScope
    subject: Annotated[str, Meta(description="What is paused, as it was named.")]
    reason: str
    by_platform: Annotated[bool, Meta(description="Only the platform can end it.")]
    is_settling: Annotated[bool, Meta(description="What waits is still being put aside; nothing of it goes out.")]
    created_at: Moment
    created_by: str


def pause_view(tenant_id: str, pause: Pause) -> PauseView:
    return PauseView(
        id=ids.show("pau", pause.id),
        scope=pause.scope,
        subject=shown_subject(tenant_id, pause),
        reason=pause.reason,
        by_platform=pause.by_platform,
        is_settling=pause.is_settling,
        created_at=pause.created_at,
        created_by=pause.created_by,
    )


class QueueLane(Shape):
    channel: ShownChannel
    priority: ShownPriority
    waiting: Annotated[int, Meta(description="Due now.")]
    scheduled: Annotated[int, Meta(description="Due later: planned, or to be tried again.")]
    held: Annotated[int, Meta(description="Put aside by a pause of their account, broadcast or category.")]
    in_flight: Annotated[int, Meta(description="In a worker's hands.")]
    oldest_age_seconds: Annotated[float, Meta(description="How long the oldest one has been due.")] | None
    paused: bool
    capped: Annotated[bool, Meta(description="Counting stopped: there are at least so many.")]


class QueueView(Shape):
    at: Moment
    lanes: list[QueueLane]
    oldest_age_seconds: float
    workers_alive: int


def queue_view(standing: QueueStanding) -> QueueView:
    return QueueView(
        at=standing.at,
        lanes=[_lane(lane, standing.at) for lane in standing.lanes],
        oldest_age_seconds=round(standing.oldest_seconds, 3),
        workers_alive=standing.workers_alive,
    )


def _lane(lane: LaneView, at: datetime) -> QueueLane:
    age = None if lane.oldest_due is None else max(0.0, round((at - lane.oldest_due).total_seconds(), 3))
    return QueueLane(
        channel=lane.channel.word,
        priority=lane.priority.word,
        waiting=lane.waiting,
        scheduled=lane.scheduled,
        held=lane.held,
        in_flight=lane.in_flight,
        oldest_age_seconds=age,
        paused=lane.paused,
        capped=lane.capped,
    )


Template = Annotated[str, Meta(max_length=100, description="The key of a template.")]


class DeadLetterQuery(PageQuery):
    reason: DeadLetterReason | None = None
    channel: ChannelWord | None = None
    category: CategoryWord | None = None
    template: Template | None = None
    since: Moment | None = None
    until: Moment | None = None


class DeadLetterMatch(Shape):
    """What is left out matches everything."""

    reason: DeadLetterReason | None = None
    channel: ChannelWord | None = None
    category: CategoryWord | None = None
    template: Template | None = None
    since: Moment | None = None
    until: Moment | None = None


class DeadLetterView(Shape):
    notification_id: str
    at: Annotated[Moment, Meta(description="When it was given up.")]
    reason: DeadLetterReason
    detail: Annotated[str, Meta(description="The vendor's or the renderer's reason, in a word.")] | None
    explanation: Annotated[str, Meta(description="The reason in plain words.")]
    channel: ShownChannel
    category: ShownCategory
    template: str | None
    recipient_id: Annotated[str, Meta(description="Your own id of the recipient.")] | None
    attempts: int
    expires_at: Moment | None
    can_be_redriven: Annotated[
        bool, Meta(description="False where its one-time secrets are gone: it cannot be composed again.")
    ]


def dead_letter_view(one: DeadLetter) -> DeadLetterView:
    return DeadLetterView(
        notification_id=ids.show("ntf", one.notification_id),
        at=one.at,
        reason=one.reason,
        detail=one.detail,
        explanation=WORDS[one.reason],
        channel=one.channel.word,
        category=one.category.word,
        template=one.template,
        recipient_id=one.recipient,
        attempts=one.attempts,
        expires_at=one.expires_at,
        can_be_redriven=not one.spent and one.expires_at is not None,
    )


class Redrive(Shape):
    ids: Annotated[list[str], Meta(max_length=1000, description="Ids of notifications.")] | None = None
    filter: DeadLetterMatch | None = None
    extend: Annotated[str, Meta(description="How long expired ones may take from now on.", examples=["24h"])] | None = (
        None
    )


_REFUSALS: Final = [one.value for one in Result if one is not Result.REDRIVEN]


class NotRedriven(Shape):
    notification_id: str
    reason: Annotated[str, Meta(extra_json_schema={"enum": _REFUSALS})]


class RedriveAnswer(Shape):
    redriven: int
    refused: list[NotRedriven]
    job_id: Annotated[str, Meta(description="Where there are many, a job does it: see /v1/jobs.")] | None


def redrive_answer(done: Redriven) -> RedriveAnswer:
    return RedriveAnswer(
        redriven=done.redriven,
        refused=[NotRedriven(notification_id=ids.show("ntf", one), reason=why.value) for one, why in done.refused],
        job_id=None if done.job_id is None else ids.show("job", done.job_id),
    )


def wanted(
    reason: DeadLetterReason | None,
    channel: str | None,
    category: str | None,
    template: str | None,
    since: datetime | None,
    until: datetime | None,
) -> DeadLetterFilter:
    return DeadLetterFilter(
        reason=reason,
        channel=CHANNELS[channel] if channel else None,
        category=CATEGORIES[category] if category else None,
        template=template,
        since=since,
        until=until,
    )


PAUSE_EXAMPLE: Final = {
    "id": "pau_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "scope": "channel",
    "subject": "email",
    "reason": "The provider has an outage.",
    "by_platform": False,
    "is_settling": False,
    "created_at": "2026-01-15T12:00:00Z",
    "created_by": "key_01KF0M7Q8Z6Y5X4W3V2T1S0R9P",
}
QUEUE_EXAMPLE: Final = {
    "at": "2026-01-15T12:00:00Z",
    "lanes": [
        {
            "channel": "email",
            "priority": "normal",
            "waiting": 1200,
            "scheduled": 40,
            "held": 0,
            "in_flight": 200,
            "oldest_age_seconds": 3.5,
            "paused": False,
            "capped": False,
        }
    ],
    "oldest_age_seconds": 3.5,
    "workers_alive": 2,
}
DEAD_LETTER_EXAMPLE: Final = {
    "notification_id": "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "at": "2026-01-15T12:00:00Z",
    "reason": "refused",
    "detail": "policy",
    "explanation": WORDS[DeadLetterReason.REFUSED],
    "channel": "email",
    "category": "transactional",
    "template": "order-shipped",
    "recipient_id": "user-42",
    "attempts": 1,
    "expires_at": "2026-01-16T12:00:00Z",
    "can_be_redriven": True,
}
