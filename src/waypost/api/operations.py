"""Operations: pausing and resuming, how the queue stands, and dead letters."""

from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.operation_shapes import (
    DEAD_LETTER_EXAMPLE,
    PAUSE_EXAMPLE,
    QUEUE_EXAMPLE,
    DeadLetterQuery,
    DeadLetterView,
    NewPause,
    PauseQuery,
    PauseView,
    QueueView,
    Redrive,
    RedriveAnswer,
    dead_letter_view,
    pause_view,
    queue_view,
    redrive_answer,
    wanted,
)
from waypost.api.shapes import Listing, NoBody, NoQuery, Shape
from waypost.kernel import ids
from waypost.kernel.durations import read_duration
from waypost.kernel.errors import refuse
from waypost.kernel.tenancy import Permission


class ResumeQuery(Shape):
    tenant: Annotated[str, Meta(max_length=63, description="For platform keys: whose pause it is.")] | None = None


@endpoint(
    "POST",
    "/v1/pauses",
    Permission.OPERATIONS_WRITE,
    summary="Pause a tenant, channel, account, broadcast or category",
    body=NewPause,
    answer=PauseView,
    status=201,
    audited=True,
    refusals={
        409: ["too_many_pauses"],
        422: ["invalid_reason", "required", "tenant_needed", "unknown_id"],
    },
    body_example={"scope": "channel", "id": "email", "reason": "The provider has an outage."},
    answer_example=PAUSE_EXAMPLE,
)
async def create_pause(call: Call[NewPause, NoQuery]) -> PauseView:
    """New vendor calls stop within two seconds; messages go on being accepted, and wait. What is paused already stays
    so: the answer is the pause that is there. A platform key may pause a whole tenant by its id."""
    asked = call.body
    pause = await call.app.operations.pauses.pause(
        call.tx, call.scope, kind=asked.scope, subject=asked.id, reason=asked.reason or ""
    )
    return pause_view(asked.id if call.scope.is_platform and asked.id else call.scope.tenant_id, pause)


@endpoint(
    "GET",
    "/v1/pauses",
    Permission.OPERATIONS_READ,
    summary="List pauses",
    query=PauseQuery,
    answer=Listing[PauseView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [PAUSE_EXAMPLE], "next": None},
)
async def list_pauses(call: Call[NoBody, PauseQuery]) -> Listing[PauseView]:
    """Those in force, newest first."""
    query = call.query
    page = await call.app.operations.pauses.page(call.tx, call.scope, query.cursor, query.limit, tenant_id=query.tenant)
    whose = (call.scope.is_platform and query.tenant) or call.scope.tenant_id
    return Listing(items=[pause_view(whose, pause) for pause in page.items], next=page.next)


@endpoint(
    "DELETE",
    "/v1/pauses/{id}",
    Permission.OPERATIONS_WRITE,
    summary="Resume",
    query=ResumeQuery,
    status=204,
    audited=True,
    refusals={403: ["paused_by_platform"]},
)
async def end_pause(call: Call[NoBody, ResumeQuery]) -> None:
    """At once. What was put aside comes back in its own order, thousands at a time."""
    await call.app.operations.pauses.resume(call.tx, call.scope, call.id("pau"), call.query.tenant)


@endpoint(
    "GET",
    "/v1/queue",
    Permission.OPERATIONS_READ,
    summary="See how the queue stands",
    answer=QueueView,
    answer_example=QUEUE_EXAMPLE,
)
async def see_queue(call: Call[NoBody, NoQuery]) -> QueueView:
    """Depth and oldest age of each lane (channel and priority). Counting stops at 100,000 a lane, so it is cheap
    whatever waits. With a platform key: the sums over all tenants."""
    return queue_view(await call.app.operations.queue.look(call.tx, call.scope))


@endpoint(
    "GET",
    "/v1/dead-letters",
    Permission.OPERATIONS_READ,
    summary="List dead letters",
    query=DeadLetterQuery,
    answer=Listing[DeadLetterView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [DEAD_LETTER_EXAMPLE], "next": None},
)
async def list_dead_letters(call: Call[NoBody, DeadLetterQuery]) -> Listing[DeadLetterView]:
    """Messages that were given up though nobody wanted that, the latest first. Kept for 90 days."""
    query = call.query
    page = await call.app.operations.dead_letters.page(
        call.tx,
        call.scope,
        wanted(query.reason, query.channel, query.category, query.template, query.since, query.until),
        query.cursor,
        query.limit,
    )
    return Listing(items=[dead_letter_view(one) for one in page.items], next=page.next)


@endpoint(
    "POST",
    "/v1/dead-letters/redrive",
    Permission.OPERATIONS_WRITE,
    summary="Send dead letters again",
    body=Redrive,
    answer=RedriveAnswer,
    status=202,
    audited=True,
    refusals={422: ["invalid_duration", "one_filter_only", "out_of_range", "invalid_id"]},
    body_example={"filter": {"reason": "refused", "since": "2026-01-15T00:00:00Z"}, "extend": "24h"},
    answer_example={"redriven": 12, "refused": [], "job_id": None},
)
async def redrive_dead_letters(call: Call[Redrive, NoQuery]) -> RedriveAnswer:
    """By ids or by filter: back into the queue under the same Message-ID, with their attempts counted on. Expired ones
    stay unless `extend` gives them more time. Up to 1,000 at once; more becomes a job."""
    asked = call.body
    extend: timedelta | None = None
    if asked.extend is not None:
        duration = read_duration(asked.extend)
        if duration is None:
            raise refuse("/extend", "invalid_duration", "Write a duration as `24h` or `2d`.")
        extend = duration.elapsed
    named = None
    if asked.ids is not None:
        named = [ids.read("ntf", one) for one in asked.ids]
        if None in named:
            raise refuse(f"/ids/{named.index(None)}", "invalid_id", "This is no id of a notification.")
    which = asked.filter
    done = await call.app.operations.dead_letters.redrive(
        call.tx,
        call.scope,
        ids=None if named is None else [one for one in named if one is not None],
        wanted=which and wanted(which.reason, which.channel, which.category, which.template, which.since, which.until),
        extend=extend,
    )
    return redrive_answer(done)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_pause,
    list_pauses,
    end_pause,
    see_queue,
    list_dead_letters,
    redrive_dead_letters,
)
