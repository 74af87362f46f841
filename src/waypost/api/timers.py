"""Work that waits for its time."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.kernel import ids
from waypost.kernel.errors import refuse
from waypost.kernel.tenancy import Permission
from waypost.triggers.model import TimerFilter, TimerView

TimerWord = Literal["pending", "moved", "fired", "cancelled", "skipped"]
_STATES: Final = ("pending", "moved", "fired", "cancelled", "skipped")


class TimerShape(Shape):
    id: str
    kind: Annotated[
        str,
        Meta(
            description="`trigger`: a message; `digest`: a window that collects; `escalation`: the next channel.",
            extra_json_schema={"enum": ["trigger", "digest", "escalation"]},
        ),
    ]
    trigger_id: str | None
    recipient: Annotated[str, Meta(description="Your id; null where the recipients are found when it fires.")] | None
    subject_key: str | None
    state: Annotated[
        str, Meta(description="`moved` waits as `pending` does.", extra_json_schema={"enum": list(_STATES)})
    ]
    reason: Annotated[str, Meta(description="Why it was cancelled or skipped.")] | None
    due: Annotated[Moment, Meta(description="Null where its anchor could not be read.")] | None
    collected: Annotated[int, Meta(description="Of a digest: how many events it has.")]
    request_id: Annotated[str, Meta(description="What it has become.")] | None
    created_at: Moment
    ended_at: Moment | None


class TimerQuery(PageQuery):
    recipient: Annotated[str, Meta(max_length=128, description="Your id of the recipient.")] | None = None
    subject_key: Annotated[str, Meta(max_length=200)] | None = None
    trigger_id: Annotated[str, Meta(max_length=64)] | None = None
    state: TimerWord | None = None


TIMER_EXAMPLE: Final = {
    "id": "tmr_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "kind": "trigger",
    "trigger_id": "trg_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "recipient": "user-42",
    "subject_key": "b-7",
    "state": "pending",
    "reason": None,
    "due": "2026-01-30T08:00:00Z",
    "collected": 0,
    "request_id": None,
    "created_at": "2026-01-15T12:00:00Z",
    "ended_at": None,
}


@endpoint(
    "GET",
    "/v1/timers",
    Permission.TRIGGERS_READ,
    summary="List timers",
    query=TimerQuery,
    answer=Listing[TimerShape],
    refusals={400: ["invalid_cursor"], 422: ["invalid_id"]},
    answer_example={"items": [TIMER_EXAMPLE], "next": None},
)
async def list_timers(call: Call[NoBody, TimerQuery]) -> Listing[TimerShape]:
    """Newest first. What has ended is kept for 90 days, with the reason."""
    query = call.query
    trigger_id = None
    if query.trigger_id is not None:
        trigger_id = ids.read("trg", query.trigger_id)
        if trigger_id is None:
            raise refuse("/trigger_id", "invalid_id", "This is not the id of a trigger.")
    wanted = TimerFilter(
        recipient=query.recipient, subject_key=query.subject_key, trigger_id=trigger_id, state=query.state
    )
    page = await call.app.events.timers.page(call.tx, call.scope, wanted, query.cursor, query.limit)
    return Listing(items=[show_timer(view) for view in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/timers/{id}",
    Permission.TRIGGERS_READ,
    summary="Read a timer",
    answer=TimerShape,
    answer_example=TIMER_EXAMPLE,
)
async def get_timer(call: Call[NoBody, NoQuery]) -> TimerShape:
    """What it waits for, or what became of it."""
    return show_timer(await call.app.events.timers.get(call.tx, call.scope, call.id("tmr")))


@endpoint(
    "POST",
    "/v1/timers/{id}/cancel",
    Permission.TRIGGERS_WRITE,
    summary="Drop a timer",
    answer=TimerShape,
    refusals={409: ["not_cancellable"]},
    answer_example=TIMER_EXAMPLE | {"state": "cancelled", "reason": "by_request", "ended_at": "2026-01-16T12:00:00Z"},
)
async def cancel_timer(call: Call[NoBody, NoQuery]) -> TimerShape:
    """For good: news about its subject does not bring it back. Cancelling twice is as good as once."""
    return show_timer(await call.app.events.timers.cancel(call.tx, call.scope, call.id("tmr")))


def show_timer(view: TimerView) -> TimerShape:
    timer = view.timer
    return TimerShape(
        id=ids.show("tmr", timer.id),
        kind=timer.kind.value,
        trigger_id=ids.show("trg", timer.trigger_id) if timer.trigger_id else None,
        recipient=view.recipient,
        subject_key=timer.subject_key,
        state=timer.word,
        reason=timer.reason,
        due=timer.due,
        collected=timer.collected,
        request_id=ids.show("req", timer.request_id) if timer.request_id else None,
        created_at=timer.created_at,
        ended_at=timer.ended_at,
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_timers, get_timer, cancel_timer)
