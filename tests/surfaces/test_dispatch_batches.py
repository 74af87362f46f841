"""Dispatch batches, unfolded through the one pipeline on a real database."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from tests.batch_desk import SCOPE, Desk, desk

from waypost.campaigns.model import Audience, BatchMessage, BatchState
from waypost.delivery.model import State
from waypost.kernel.errors import Conflict, Refused
from waypost.kernel.tracking import Tracking

__all__ = ["desk"]


async def test_everyone_gets_one_message_and_the_totals_are_counted(desk: Desk) -> None:
    batch = await desk.make()
    assert batch.state is BatchState.SCHEDULED
    await desk.expansion.work_off()
    done = await desk.find(batch)
    assert (done.state, done.expanded, done.refused) == (BatchState.COMPLETED, 12, 0)
    totals = await desk.totals(batch)
    assert (totals.states, totals.recipients) == ({State.QUEUED: 12}, 12)


async def test_an_audience_is_a_tag_or_ids(desk: Desk) -> None:
    tagged = await desk.make(Audience(tag="third"))
    named = await desk.make(Audience(ids=("user-1", "user-2", "nobody")))
    await desk.expansion.work_off()
    assert (await desk.totals(tagged)).states == {State.QUEUED: 4}
    assert (await desk.totals(named)).states == {State.QUEUED: 2}


async def test_a_killed_worker_is_followed_by_one_that_goes_on(desk: Desk) -> None:
    batch = await desk.make()
    desk.steps = 2  # the start, and one chunk
    await desk.expansion.work_off()
    half = await desk.find(batch)
    assert (half.state, half.expanded) == (BatchState.RUNNING, 5)
    # As if the chunk had been done and its place had not been kept.
    await desk.ask("update dispatch_batches set place = '00000000-0000-0000-0000-000000000000' returning id")
    desk.steps = 1_000
    await asyncio.gather(*(desk.expansion.work_off() for _ in range(3)))
    assert (await desk.find(batch)).state is BatchState.COMPLETED
    assert (await desk.totals(batch)).states == {State.QUEUED: 12}


async def test_whom_the_message_does_not_fit_is_left_out_and_counted(desk: Desk, acme: Any) -> None:
    await acme.ok("PATCH", "/v1/recipients/user-4", {"attributes": {"first_name": None}})
    batch = await desk.make()
    await desk.expansion.work_off()
    totals = await desk.totals(batch)
    assert (totals.states, totals.recipients, totals.refused) == ({State.QUEUED: 11}, 12, 1)


async def test_the_pace_is_kept(desk: Desk) -> None:
    batch = await desk.make(per_minute=5)
    await desk.expansion.work_off()
    started = (await desk.find(batch)).started_at
    rows = await desk.ask("select send_at from notifications order by send_at")
    minutes = [round((row["send_at"] - started) / timedelta(minutes=1)) for row in rows]
    assert minutes == [0] * 5 + [1] * 5 + [2] * 2


async def test_cancelling_stops_what_has_not_gone_out(desk: Desk) -> None:
    batch = await desk.make()
    desk.steps = 2
    await desk.expansion.work_off()
    assert (await desk.cancel(batch)).state is BatchState.CANCELLED
    desk.steps = 1_000
    await desk.expansion.work_off()
    assert (await desk.totals(batch)).states == {State.CANCELLED: 5}
    assert (await desk.cancel(batch)).state is BatchState.CANCELLED
    with pytest.raises(Conflict):
        async with desk.app.work.begin("acme") as tx:
            await desk.batches.schedule(tx, SCOPE, batch.id)


async def test_a_step_that_breaks_time_and_again_ends_the_batch(desk: Desk) -> None:
    batch = await desk.make(message=BatchMessage(template="hello", routing="no such routing"))
    for _ in range(6):
        await desk.expansion.work_off()
        await desk.ask(
            "update dispatch_batches set next_step_at = now() - interval '1 hour' "
            "where next_step_at is not null returning id"
        )
    ended = await desk.find(batch)
    assert (ended.state, ended.reason) == (BatchState.FAILED, "step_failed")


async def test_a_bad_audience_is_refused(desk: Desk) -> None:
    for audience in (Audience(tag="a", ids=("b",)), Audience(ids=())):
        with pytest.raises(Refused):
            await desk.make(audience)


async def test_a_batch_says_what_is_noticed_as_a_call_does(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    said, submit = list[Tracking](), desk.expansion._submit

    class Overheard:
        async def many(self, tx: Any, scope: Any, commands: Sequence[Any]) -> Any:
            said.extend(command.tracking for command in commands)
            return await submit.many(tx, scope, commands)

    monkeypatch.setattr(desk.expansion, "_submit", Overheard())
    await desk.make(message=BatchMessage(template="hello", tracking=Tracking(opens=True, clicks=False)))
    await desk.expansion.work_off()
    assert set(said) == {Tracking(opens=True, clicks=False)}
