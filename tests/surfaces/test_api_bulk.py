"""`POST /v1/notifications/bulk`: each item accepted or refused on its own, by the rules of a call of one."""

import asyncio
import json
from typing import Any

import pytest

from waypost.api.bulk_body import MOST_ITEMS

PATH = "/v1/notifications/bulk"
HELLO = {"subject": "Hello {{ first_name }}", "text": "Hi {{ first_name }}"}


def item(number: int, **fields: Any) -> dict[str, Any]:
    to = {"id": f"user-{number}", "email": f"u{number}@example.com", "attributes": {"first_name": f"U{number}"}}
    return {"to": to, "content": HELLO} | fields


async def stored(caller: Any, table: str) -> int:
    async with caller.app.work.begin(caller.tenant) as tx:
        return await tx.connection.fetchval(f"select count(*) from {table}")


async def test_each_item_is_answered_by_its_index(acme: Any) -> None:
    bodies = [
        item(0, idempotency_key="a"),
        item(1, template="missing", content=None),
        item(2, no_such_field=1),
        {"to": "nobody-known", "content": HELLO},
        {"to": {"id": "user-4", "email": "u4@example.com"}, "content": HELLO},
        item(5, to=[{"email": "one@example.com"}, {"email": "two@example.com"}], content={"subject": "s", "text": "t"}),
        {"to": {"email": "not an address"}, "content": HELLO},
        "not an object",
    ]
    answer = await acme.ok("POST", PATH, bodies)
    told = {each["index"]: each.get("error", {}).get("code", "fine") for each in answer["items"]}
    assert told == {
        0: "fine",
        1: "unknown_template",
        2: "unknown_field",
        3: "unknown_recipient",
        4: "missing_variable",
        5: "fine",
        6: "invalid_address",
        7: "not_an_object",
    }
    assert (answer["accepted"], answer["refused"]) == (2, 6)
    errors = {each["index"]: each["error"]["errors"] for each in answer["items"] if "error" in each}
    assert errors[4][0]["pointer"] == "/variables/first_name"
    assert errors[6][0]["pointer"] == "/to/email"
    request = await acme.ok("GET", f"/v1/requests/{answer['request_id']}")
    shown = [one["id"] for each in answer["items"] for one in each.get("notifications", [])]
    assert [one["id"] for one in request["notifications"]] == shown
    assert len(shown) == 3


async def test_a_refused_item_leaves_no_trace(acme: Any) -> None:
    bodies = [item(1, idempotency_key="bad", content={"subject": "{{ nowhere }}", "text": "x"}), item(2)]
    answer = await acme.ok("POST", PATH, bodies)
    assert [("error" in each) for each in answer["items"]] == [True, False]
    assert (await acme("GET", "/v1/recipients/user-1")).status_code == 404
    assert await stored(acme, "idempotency_keys") == 0
    mended = await acme.ok("POST", PATH, [item(1, idempotency_key="bad")])
    assert mended["accepted"] == 1


async def test_what_a_refused_item_says_about_people_does_not_count(acme: Any) -> None:
    bodies = [
        item(1, content={"subject": "{{ nowhere }}", "text": "x"}),
        {"to": "user-1", "content": HELLO},
    ]
    answer = await acme.ok("POST", PATH, bodies)
    assert [each["error"]["code"] for each in answer["items"]] == ["missing_variable", "unknown_recipient"]
    assert answer["request_id"] is None


async def test_the_same_bulk_again_sends_nothing_twice(acme: Any) -> None:
    bodies = [item(number, idempotency_key=f"k{number}") for number in range(20)]
    first = await acme.ok("POST", PATH, bodies)
    again = await acme.ok("POST", PATH, bodies)
    assert [each["notifications"] for each in again["items"]] == [each["notifications"] for each in first["items"]]
    assert await stored(acme, "notifications") == 20
    assert await stored(acme, "queue") == 20


async def test_a_key_serves_one_item_only(acme: Any) -> None:
    await acme.ok("POST", PATH, [item(1, idempotency_key="once")])
    bodies = [item(2, idempotency_key="once"), item(3, idempotency_key="twice"), item(4, idempotency_key="twice")]
    answer = await acme.ok("POST", PATH, bodies)
    assert [each.get("error", {}).get("code") for each in answer["items"]] == [
        "idempotency_key_reused",
        None,
        "idempotency_key_reused",
    ]
    assert answer["items"][0]["error"]["errors"][0]["pointer"] == "/idempotency_key"
    single = await acme.refused("POST", "/v1/notifications", item(1), headers={"Idempotency-Key": "once"})
    assert single[:2] == (422, "idempotency_key_reused")


async def test_twins_in_one_bulk_are_one(acme: Any) -> None:
    answer = await acme.ok("POST", PATH, [item(1, idempotency_key="same"), item(1, idempotency_key="same")])
    first, second = (each["notifications"][0]["id"] for each in answer["items"])
    assert first == second
    assert await stored(acme, "notifications") == 1


async def test_bulks_at_once_with_the_same_keys_are_one(acme: Any) -> None:
    bodies = [item(number, idempotency_key=f"k{number}") for number in range(30)]
    shuffled = [bodies, bodies[::-1], bodies[15:] + bodies[:15]]
    answers = await asyncio.gather(*(acme.ok("POST", PATH, each) for each in shuffled))
    assert {answer["accepted"] for answer in answers} == {30}
    assert await stored(acme, "notifications") == 30


async def test_each_item_says_what_it_says_in_its_turn(acme: Any) -> None:
    bodies = [
        item(1, to={"id": "u", "email": "first@example.com", "attributes": {"first_name": "A"}}),
        item(1, to={"id": "u", "email": "second@example.com", "attributes": {"first_name": "B"}}),
        {"to": "u", "content": HELLO},
    ]
    answer = await acme.ok("POST", PATH, bodies)
    shown = [each["notifications"][0]["id"] for each in answer["items"]]
    contents = [await acme.ok("GET", f"/v1/notifications/{one}/content") for one in shown]
    assert [(each["subject"], each["to"]) for each in contents] == [
        ("Hello A", "f***@example.com"),
        ("Hello B", "s***@example.com"),
        ("Hello B", "s***@example.com"),
    ]


async def test_who_is_made_or_changed_in_one_batch_is_so_in_the_next(acme: Any) -> None:
    """People of later batches are looked up ahead of their turn, as long as nobody changes."""
    everybody = [item(number) for number in range(700)]
    await acme.ok("POST", PATH, everybody)
    changed = {"id": "user-600", "attributes": {"first_name": "Changed"}}
    made = {"id": "stranger", "email": "s@example.com", "attributes": {"first_name": "Stranger"}}
    news = [{"to": changed, "content": HELLO}, {"to": made, "content": HELLO}]
    later = [{"to": "user-600", "content": HELLO}, {"to": "stranger", "content": HELLO}]
    bodies = [*everybody[:250], *news, *everybody[250:350], *later, *everybody[350:550], *later]
    answer = await acme.ok("POST", PATH, bodies)
    assert answer["accepted"] == len(bodies)
    places = [250, 251, 352, 353, len(bodies) - 2, len(bodies) - 1]
    shown = [answer["items"][place]["notifications"][0]["id"] for place in places]
    contents = [await acme.ok("GET", f"/v1/notifications/{one}/content") for one in shown]
    assert [each["subject"] for each in contents] == ["Hello Changed", "Hello Stranger"] * 3


async def test_what_a_later_item_takes_away_an_earlier_one_still_has(acme: Any) -> None:
    bodies = [item(1, to={"id": "u", "email": None if number % 2 else "u@example.com"}) for number in range(6)]
    for body in bodies:
        body["content"] = {"subject": "Hello", "text": "Hello"}
    answer = await acme.ok("POST", PATH, bodies)
    told = [(each["notifications"][0]["status"], each["notifications"][0].get("reason")) for each in answer["items"]]
    assert told == [("queued", None), ("suppressed", "no_address")] * 3


async def test_lines_are_as_good_as_an_array(acme: Any) -> None:
    lines = [json.dumps(item(1)), "", "{broken", json.dumps(item(2)), '{"to": "x", "to": "y"}', "  "]
    body = "\r\n".join(lines).encode()
    answer = await acme.ok("POST", PATH, body, headers={"Content-Type": "application/x-ndjson"})
    told = [(each["index"], each.get("error", {}).get("code")) for each in answer["items"]]
    assert told == [(0, None), (1, "invalid_json"), (2, None), (3, "duplicate_key")]


@pytest.mark.parametrize(
    ("body", "kind", "refusal"),
    [
        (b"[]", "application/json", (422, "required")),
        (b"{}", "application/json", (400, "not_an_array")),
        (b"[{]", "application/json", (400, "invalid_json")),
        (b"[" * 5_000, "application/json", (400, "too_deep")),
        (b"\n\n", "application/x-ndjson", (422, "required")),
        (b"[]", "text/csv", (415, "unsupported_media_type")),
        (b"[" + b"1," * MOST_ITEMS + b"1]", "application/json", (413, "too_many")),
    ],
)
async def test_a_body_that_is_no_bulk_is_refused_whole(
    acme: Any, body: bytes, kind: str, refusal: tuple[int, str]
) -> None:
    assert (await acme.refused("POST", PATH, body, headers={"Content-Type": kind}))[:2] == refusal


async def test_a_bulk_may_be_larger_than_other_bodies_but_not_endless(acme: Any) -> None:
    big = [item(number, metadata={"note": "x" * 3_000}) for number in range(500)]
    assert (await acme.ok("POST", PATH, big))["accepted"] == 500
    endless = b"[" + b" " * 17_000_000 + b"]"
    assert (await acme.refused("POST", PATH, endless))[:2] == (413, "body_too_large")


async def test_a_bulk_reaches_ten_thousand_people_at_most(acme: Any) -> None:
    crowd = [{"to": [f"user-{number}" for number in range(1_000)], "content": HELLO}] * 10
    answer = await acme.ok("POST", PATH, [*crowd, item(1)])
    assert answer["items"][10]["error"]["errors"][0] == {
        "pointer": "/to",
        "code": "too_many",
        "message": "The items of one bulk reach at most 10000 recipients together; split it.",
    }


async def test_the_header_keeps_the_whole_answer(acme: Any) -> None:
    headers = {"Idempotency-Key": "whole"}
    first = await acme("POST", PATH, [item(1), item(2, no_such=1)], headers=headers)
    again = await acme("POST", PATH, [item(1), item(2, no_such=1)], headers=headers)
    assert again.content == first.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert await stored(acme, "notifications") == 1
