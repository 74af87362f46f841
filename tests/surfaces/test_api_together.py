"""Many single calls at the same moment: stored together, and each as if it had been alone."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Unavailable

CONTENT = {"subject": "Hello {{ name }}", "text": "Hi {{ name }}"}


def _body(number: int) -> dict[str, Any]:
    person = {"id": f"user-{number}", "email": f"user-{number}@example.com", "attributes": {"name": f"N{number}"}}
    return {"to": person, "content": CONTENT, "category": "transactional"}


def _call(caller: Any, number: int, body: dict[str, Any] | None = None) -> Coroutine[Any, Any, Any]:
    headers = {"Idempotency-Key": f"call-{number}"}
    return caller("POST", "/v1/notifications", body or _body(number), headers=headers)


async def _all_behind_one(caller: Any, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """Lets them in once all of them wait behind someone who does nothing."""
    together = caller.app.notifications.together
    together._clock = VirtualClock()
    door = asyncio.Event()
    ahead = asyncio.create_task(together(caller.tenant, door.wait, None))
    behind = [asyncio.create_task(call) for call in calls]
    while caller.tenant not in together._lines or len(together._lines[caller.tenant].waiting) < len(calls):  # noqa: ASYNC110
        await asyncio.sleep(0)
    door.set()
    await ahead
    return await asyncio.gather(*behind)


async def test_each_call_is_a_request_of_its_own(acme: Any) -> None:
    answers = await _all_behind_one(acme, *(_call(acme, number) for number in range(6)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["request_id"] for answer in answers}) == 6
    for number, answer in enumerate(answers):
        (made,) = answer.json()["notifications"]
        assert made["recipient_id"] == f"user-{number}"
        request = await acme.ok("GET", f"/v1/requests/{answer.json()['request_id']}")
        assert [one["id"] for one in request["notifications"]] == [made["id"]]
        content = await acme.ok("GET", f"/v1/notifications/{made['id']}/content")
        assert content["subject"] == f"Hello N{number}"


async def test_each_answer_is_kept_with_its_key(acme: Any) -> None:
    first = await _all_behind_one(acme, *(_call(acme, number) for number in range(4)))
    again = await _all_behind_one(acme, *(_call(acme, number) for number in range(4)))
    assert [answer.content for answer in first] == [answer.content for answer in again]
    assert {answer.headers.get("idempotency-replayed") for answer in first} == {None}
    assert {answer.headers.get("idempotency-replayed") for answer in again} == {"true"}


async def test_a_key_that_was_used_alone_is_answered_again_among_others(acme: Any) -> None:
    first = await _call(acme, 0)
    answers = await _all_behind_one(acme, *(_call(acme, number) for number in range(3)))
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == ["true", None, None]
    assert answers[0].content == first.content
    assert len((await acme.ok("GET", "/v1/notifications"))["items"]) == 3


async def test_a_call_that_would_be_refused_by_now_is_answered_as_it_was(acme: Any) -> None:
    first = await _call(acme, 0)
    erased = await acme("DELETE", "/v1/recipients/user-0")
    assert erased.status_code < 300
    answers = await _all_behind_one(acme, *(_call(acme, number) for number in range(3)))
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    assert answers[0].content == first.content


async def test_one_key_at_the_same_moment_sends_once(acme: Any) -> None:
    twins = await _all_behind_one(acme, *(_call(acme, 1) for _ in range(4)), _call(acme, 2))
    assert {answer.status_code for answer in twins} == {202}
    assert len({answer.content for answer in twins[:4]}) == 1
    assert len((await acme.ok("GET", "/v1/notifications"))["items"]) == 2


async def test_one_bad_call_spoils_no_other(acme: Any) -> None:
    bad = _body(2) | {"content": {"subject": "{{ nobody_said }}", "text": "x"}}
    answers = await _all_behind_one(acme, *(_call(acme, number, bad if number == 2 else None) for number in range(4)))
    assert [answer.status_code for answer in answers] == [202, 202, 422, 202]
    assert answers[2].json()["code"] == "missing_variable"
    assert (await acme("GET", "/v1/recipients/user-2")).status_code == 404
    assert (await _call(acme, 2)).status_code == 202


async def test_a_group_that_fails_is_made_up_for_one_by_one(acme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_args: object) -> None:
        raise Unavailable("gone")

    monkeypatch.setattr(acme.app.idempotency, "keep_new", broken)
    answers = await _all_behind_one(acme, *(_call(acme, number) for number in range(4)))
    assert {answer.status_code for answer in answers} == {202}
    assert len((await acme.ok("GET", "/v1/notifications"))["items"]) == 4


async def test_whoever_would_have_to_wait_for_a_lock_does_so_alone(acme: Any) -> None:
    """A twin of one of them is still being stored elsewhere: the others are not kept waiting."""
    async with acme.app.work.begin(acme.tenant) as tx:
        assert await acme.app.idempotency.claim(tx, "call-0", "POST /v1/notifications", b"") is None
        waiting = asyncio.create_task(_all_behind_one(acme, *(_call(acme, number) for number in range(3))))
        while len((await acme.ok("GET", "/v1/notifications"))["items"]) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert not waiting.done()
    answers = await waiting
    # Its twin was another call, which is what it is told once it is known.
    assert [answer.status_code for answer in answers[1:]] == [202, 202]
    assert answers[0].status_code in (409, 422)
