"""Why somebody would, or would not, get a message."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import (
    CategoryWord,
    ChannelWord,
    Moment,
    NoQuery,
    PriorityWord,
    Shape,
    ShownCategory,
    ShownChannel,
)
from waypost.delivery.gate import Allow, Defer, Skip, Step, Verdict
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES
from waypost.notifications.explain import Case, Explanation

VerdictWord = Literal["allow", "skip", "defer"]


class ExplainCase(Shape):
    recipient: Annotated[str, Meta(max_length=128, examples=["user-42"])]
    channel: ChannelWord = "email"
    category: CategoryWord | None = None
    topic: Annotated[str, Meta(max_length=64)] | None = None
    template: Annotated[str, Meta(max_length=100, description="Says category and topic.")] | None = None
    priority: PriorityWord = "normal"
    at: Annotated[Moment, Meta(description="Null: now.")] | None = None


class ExplainStep(Shape):
    rule: str
    verdict: VerdictWord
    fact: Annotated[str, Meta(description="What the rule rests on.")]


class ExplainView(Shape):
    verdict: VerdictWord
    reason: Annotated[str, Meta(description="Of a skip its reason, of a deferral its rule.")] | None
    until: Moment | None
    steps: Annotated[list[ExplainStep], Meta(description="Every rule in order; the first that objects decides.")]
    channel: ShownChannel
    category: ShownCategory
    topic: str | None
    at: Moment
    note: str | None


@endpoint(
    "POST",
    "/v1/explain",
    Permission.NOTIFICATIONS_READ,
    summary="Explain what would happen",
    body=ExplainCase,
    answer=ExplainView,
    refusals={
        422: [
            "category_mismatch",
            "too_far_ahead",
            "topic_mismatch",
            "unknown_recipient",
            "unknown_template",
            "unknown_topic",
        ],
    },
    body_example={"recipient": "user-42", "channel": "email", "category": "marketing", "topic": "newsletter"},
    answer_example={
        "verdict": "defer",
        "reason": "quiet_hours",
        "until": "2026-01-16T06:00:00Z",
        "steps": [
            {"rule": "suppression", "verdict": "allow", "fact": "none"},
            {"rule": "quiet_hours", "verdict": "defer", "fact": "22:00–07:00 Europe/Vienna"},
        ],
        "channel": "email",
        "category": "marketing",
        "topic": "newsletter",
        "at": "2026-01-15T23:00:00Z",
        "note": None,
    },
)
async def explain(call: Call[ExplainCase, NoQuery]) -> ExplainView:
    """Asks the gate for any case, and sends nothing."""
    body = call.body
    case = Case(
        recipient=body.recipient,
        channel=CHANNELS[body.channel],
        category=None if body.category is None else CATEGORIES[body.category],
        topic=body.topic,
        template=body.template,
        priority=PRIORITIES[body.priority],
        at=body.at,
    )
    return _view(await call.app.wishes.explain(call.tx, call.scope, case))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (explain,)


def _view(found: Explanation) -> ExplainView:
    return ExplainView(
        verdict=_word(found.verdict),
        reason=found.reason,
        until=found.until,
        steps=[_step(step) for step in found.steps],
        channel=found.case.channel.word,
        category=found.category.word,
        topic=found.topic,
        at=found.at,
        note=found.note,
    )


def _step(step: Step) -> ExplainStep:
    return ExplainStep(rule=step.rule, verdict=_word(step.verdict), fact=step.fact)


def _word(verdict: Verdict) -> VerdictWord:
    match verdict:
        case Allow():
            return "allow"
        case Skip():
            return "skip"
        case Defer():
            return "defer"
