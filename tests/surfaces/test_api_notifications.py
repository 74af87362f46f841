"""Sending over HTTP: the first call, its variants, and every way in which it is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from waypost.bootstrap import App
from waypost.kernel import ids
from waypost.kernel.vault import place

TO = {"id": "user-42", "email": "jane@example.com", "attributes": {"first_name": "Jane"}}
CONTENT = {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"}
SEND = {"to": TO, "content": CONTENT, "category": "transactional"}
PATH = "/v1/notifications"


def _in(**delta: float) -> str:
    return (datetime.now(UTC) + timedelta(**delta)).isoformat()


async def _published(acme: Any, key: str = "order-paid", **version: Any) -> None:
    await acme.ok("POST", "/v1/templates", {"key": key, "name": key, "category": "operational"})
    words = {"subject": "Order {{ order }}", "body": "Hello {{ first_name }}, code {{ code }}", "format": "text"}
    await acme.ok("POST", f"/v1/templates/{key}/email/versions", {"locales": {"en": words}} | version)
    await acme.ok("POST", f"/v1/templates/{key}/email/versions/1.0.0/publish")


async def test_the_first_call(acme: Any) -> None:
    answer = await acme("POST", PATH, SEND)
    assert answer.status_code == 202
    accepted = answer.json()
    [made] = accepted["notifications"]
    assert accepted["request_id"].startswith("req_")
    assert made["id"].startswith("ntf_")
    assert made == {"id": made["id"], "recipient_id": "user-42", "channel": "email", "status": "queued"}

    shown = await acme.ok("GET", f"{PATH}/{made['id']}")
    assert (shown["status"], shown["category"], shown["to"]) == ("queued", "transactional", "j***@example.com")
    assert shown["request_id"] == accepted["request_id"]
    content = await acme.ok("GET", f"{PATH}/{made['id']}/content")
    assert (content["subject"], content["html"]) == ("Hello Jane", "<p>Welcome, Jane</p>")
    timeline = await acme.ok("GET", f"{PATH}/{made['id']}/timeline")
    assert timeline["items"][0]["event"] == "accepted"
    request = await acme.ok("GET", f"/v1/requests/{accepted['request_id']}")
    assert [one["id"] for one in request["notifications"]] == [made["id"]]
    listed = await acme.ok("GET", PATH)
    assert [one["id"] for one in listed["items"]] == [made["id"]]


async def test_what_the_other_side_said_stands_in_the_timeline(acme: Any, app: App, admin: asyncpg.Connection) -> None:
    [made] = (await acme.ok("POST", PATH, SEND))["notifications"]
    found = ids.read("ntf", made["id"])
    row = await admin.fetchrow(
        "select r.id, r.data_key from recipients r join notifications n on n.recipient_id = r.id where n.id = $1", found
    )
    async with app.work.begin("acme") as tx:
        tenant_key = await app.notifications.read._opener._keyring.of(tx)
    key = tenant_key.unwrap(row["data_key"], place("data_key", "acme", row["id"]))
    reply = key.seal(b"550 5.7.1 jane@example.com is blocked", place("reply", "acme", found))
    await admin.execute(
        "insert into attempts (tenant_id, notification_id, retention, n, worker_id, started_at, latency_ms, outcome,"
        " code, reason, reply) values ('acme', $1, 1, 1, $1, now(), 5, 3, 550, 'policy', $2)", found, reply
    )  # fmt: skip
    steps = (await acme.ok("GET", f"{PATH}/{made['id']}/timeline"))["items"]
    said = {step["event"]: step["detail"].get("reply") for step in steps}
    assert said["attempt_rejected"] == "550 5.7.1 j***@example.com is blocked"
    assert said["attempt_started"] is None


async def test_every_form_of_to(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/user-1", {"email": "a@example.com", "attributes": {"first_name": "A"}})
    known = await acme.ok("POST", PATH, SEND | {"to": "user-1"})
    assert known["notifications"][0]["recipient_id"] == "user-1"
    anonymous = await acme.ok(
        "POST", PATH, SEND | {"to": {"email": "b@example.com", "attributes": {"first_name": "B"}}}
    )
    assert anonymous["notifications"][0]["recipient_id"].startswith("rcp_")
    found = await acme.ok("POST", PATH, SEND | {"to": {"email": "A@example.com"}})
    assert found["notifications"][0]["recipient_id"] == "user-1"
    many = await acme.ok("POST", PATH, SEND | {"to": ["user-1", TO]})
    assert [one["recipient_id"] for one in many["notifications"]] == ["user-1", "user-42"]


async def test_a_template_with_variables(acme: Any) -> None:
    await _published(acme)
    sent = await acme.ok("POST", PATH, {"to": TO, "template": "order-paid", "variables": {"order": 7, "code": "x"}})
    shown = await acme.ok("GET", f"{PATH}/{sent['notifications'][0]['id']}")
    assert (shown["template"], shown["category"]) == ("order-paid", "operational")
    content = await acme.ok("GET", f"{PATH}/{shown['id']}/content")
    assert (content["subject"], content["text"].strip()) == ("Order 7", "Hello Jane, code x")


async def test_a_write_only_variable_is_never_shown(acme: Any) -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string", "writeOnly": True}}}
    await _published(acme, variables_schema=schema)
    sent = await acme.ok(
        "POST", PATH, {"to": TO, "template": "order-paid", "variables": {"order": 7, "code": "s3cr3t"}}
    )
    content = await acme.ok("GET", f"{PATH}/{sent['notifications'][0]['id']}/content")
    assert "s3cr3t" not in str(content)
    assert "Hello Jane" in content["text"]


async def test_later_and_not_after(acme: Any) -> None:
    later = SEND | {"send_at": _in(hours=1), "expires_at": _in(hours=2), "priority": "low", "metadata": {"order": [1]}}
    sent = await acme.ok("POST", PATH, later)
    [made] = sent["notifications"]
    assert made["status"] == "scheduled"
    shown = await acme.ok("GET", f"{PATH}/{made['id']}")
    assert (shown["priority"], shown["metadata"]) == ("low", {"order": [1]})
    cancelled = await acme.ok("POST", f"{PATH}/{made['id']}/cancel")
    assert cancelled["status"] == "cancelled"
    again = await acme.ok("POST", f"{PATH}/{made['id']}/cancel", {})
    assert again["status"] == "cancelled"
    both = await acme.ok(
        "POST", PATH, later | {"to": [TO, {"id": "u2", "email": "b@example.com", "attributes": {"first_name": "B"}}]}
    )
    ended = await acme.ok("POST", f"/v1/requests/{both['request_id']}/cancel")
    assert [one["status"] for one in ended["notifications"]] == ["cancelled", "cancelled"]


async def test_a_suppressed_member_comes_back_with_its_reason(acme: Any) -> None:
    await acme.ok("POST", "/v1/suppressions", {"address": "JANE@example.com"})
    other = {"id": "u2", "email": "b@example.com", "attributes": {"first_name": "B"}}
    sent = await acme.ok("POST", PATH, SEND | {"to": [TO, other]})
    assert [one["status"] for one in sent["notifications"]] == ["suppressed", "queued"]
    assert [one.get("reason") for one in sent["notifications"]] == ["suppressed", None]
    timeline = await acme.ok("GET", f"{PATH}/{sent['notifications'][0]['id']}/timeline")
    assert "manual" in str(timeline["items"][-1]["detail"])


async def test_a_released_address_is_written_to_again(acme: Any) -> None:
    made = await acme.ok("POST", "/v1/suppressions", {"address": "jane@example.com", "reason": "complaint"})
    assert (made["address"], made["reason"]) == ("j***@example.com", "complaint")
    milder = await acme.ok("POST", "/v1/suppressions", {"address": "jane@example.com"})
    assert milder["reason"] == "complaint"
    assert (await acme("DELETE", f"/v1/suppressions/{made['id']}")).status_code == 204
    assert (await acme.ok("POST", PATH, SEND))["notifications"][0]["status"] == "queued"
    assert (await acme.ok("GET", "/v1/suppressions"))["items"] == []


async def test_filters(acme: Any) -> None:
    await acme.ok("PATCH", "/v1/settings", {"consent_policy": "implied"})
    first = await acme.ok("POST", PATH, SEND)
    await acme.ok("POST", PATH, SEND | {"to": TO | {"id": "u2", "email": "b@example.com"}, "category": "marketing"})
    await acme.ok("POST", PATH, SEND | {"to": TO | {"id": "u3", "email": "c@example.com"}, "send_at": _in(hours=1)})

    async def found(**query: str) -> list[str]:
        return [one["recipient_id"] for one in (await acme.ok("GET", PATH, params=query))["items"]]

    assert await found() == ["u3", "u2", "user-42"]
    assert await found(recipient_id="user-42") == ["user-42"]
    assert await found(recipient_id="nobody") == []
    assert await found(category="marketing") == ["u2"]
    assert await found(channel="sms") == []
    assert await found(status="scheduled") == ["u3"]
    assert await found(status="queued") == ["u2", "user-42"]
    assert await found(created_from=_in(hours=1)) == []
    assert await found(created_before=_in(hours=1), created_from=_in(hours=-1)) == ["u3", "u2", "user-42"]
    page = await acme.ok("GET", PATH, params={"limit": "2"})
    rest = await acme.ok("GET", PATH, params={"limit": "2", "cursor": page["next"]})
    assert [one["id"] for one in rest["items"]] == [first["notifications"][0]["id"]]
    assert rest["next"] is None
    for query in ("status=asleep", "created_from=yesterday", "created_from=2026-01-01", "channel=pigeon"):
        status, _, pointers = await acme.refused("GET", f"{PATH}?{query}")
        assert (status, pointers) == (422, ["/" + query.partition("=")[0]])


async def test_repeating_a_send_sends_once(acme: Any, admin: asyncpg.Connection) -> None:
    first = await acme("POST", PATH, SEND, headers={"Idempotency-Key": "order-1001"})
    again = await acme("POST", PATH, SEND, headers={"Idempotency-Key": "order-1001"})
    assert first.content == again.content
    assert again.headers["idempotency-replayed"] == "true"
    assert await admin.fetchval("select count(*) from notifications") == 1
    assert await admin.fetchval("select count(*) from queue") == 1


BAD = [
    ({"to": []}, "/to"),
    ({"to": 5}, "/to"),
    ({"to": "nobody"}, "/to"),
    ({"to": {"email": "no"}}, "/to/email"),
    ({"to": {"email": "a@example.com\r\nBcc: b@example.com"}}, "/to/email"),
    ({"to": {"id": "bad id", "email": "a@example.com"}}, "/to/id"),
    ({"to": [TO, {"email": "no"}]}, "/to/1/email"),
    ({"to": [TO, {"emial": "no"}]}, "/to/1/emial"),
    ({"to": TO | {"timezone": "America"}}, "/to/timezone"),
    ({"to": ["u"] * 1001}, "/to"),
    ({"content": None}, "/content"),
    ({"template": "x"}, "/content"),
    ({"content": None, "template": "no-such"}, "/template"),
    ({"content": {"subject": "x"}}, "/content"),
    ({"content": {"subject": "{% for %}", "text": "x"}}, "/content/subject"),
    ({"content": {"subject": "x", "html": "{{ missing_one }}"}}, "/variables/missing_one"),
    (
        {
            "content": {
                "subject": "x",
                "text": "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
            }
        },
        "/content",
    ),
    ({"category": "nonsense"}, "/category"),
    ({"channel": "pigeon"}, "/channel"),
    ({"priority": "asap"}, "/priority"),
    ({"send_at": "tomorrow"}, "/send_at"),
    ({"send_at": "2026-01-01T00:00:00"}, "/send_at"),
    ({"send_at": _in(minutes=-6)}, "/send_at"),
    ({"send_at": _in(days=400)}, "/send_at"),
    ({"expires_at": _in(seconds=-5)}, "/expires_at"),
    ({"send_at": _in(hours=2), "expires_at": _in(hours=1)}, "/expires_at"),
    ({"from": "not an address"}, "/from"),
    ({"from": "A\r\nBcc: b@example.com <a@example.com>"}, "/from"),
    ({"reply_to": "no"}, "/reply_to"),
    ({"cc": ["a@example.com", "no"]}, "/cc/1"),
    ({"headers": {"X-A": "b\r\nBcc: c@example.com"}}, "/headers"),
    ({"headers": {"Bcc": "c@example.com"}}, "/headers"),
    ({"headers": {"X-A": 5}}, "/headers"),
    ({"metadata": []}, "/metadata"),
    ({"metadata": {"x": "y" * 20_000}}, "/metadata"),
    ({"variables": "x"}, "/variables"),
    ({"colour": "red"}, "/colour"),
]


@pytest.mark.parametrize(("change", "pointer"), BAD, ids=range(len(BAD)))
async def test_bad_calls_are_refused_by_field_and_store_nothing(
    acme: Any, admin: asyncpg.Connection, change: dict[str, Any], pointer: str
) -> None:
    answer = await acme("POST", PATH, SEND | change, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 422, answer.text
    pointers = [error["pointer"] for error in answer.json()["errors"]]
    assert any(found.startswith(pointer) for found in pointers), pointers
    assert "c@example.com" not in answer.text
    for table in (
        "requests",
        "notifications",
        "queue",
        "recipients",
        "template_versions",
        "outbox",
        "idempotency_keys",
    ):
        assert await admin.fetchval(f"select count(*) from {table}") == 0, table


async def test_two_people_with_one_address_are_ambiguous(acme: Any) -> None:
    for recipient_id in ("u1", "u2"):
        await acme.ok("PUT", f"/v1/recipients/{recipient_id}", {"email": "shared@example.com"})
    refusal = await acme.refused("POST", PATH, SEND | {"to": {"email": "shared@example.com"}})
    assert refusal[:2] == (422, "ambiguous_recipient")


async def test_nobody_sees_another_tenant_s_messages(acme: Any, globex: Any) -> None:
    sent = await acme.ok("POST", PATH, SEND, headers={"Idempotency-Key": "same"})
    [made] = sent["notifications"]
    assert (await globex.ok("GET", PATH))["items"] == []
    for method, path in [
        ("GET", f"{PATH}/{made['id']}"),
        ("GET", f"{PATH}/{made['id']}/timeline"),
        ("GET", f"{PATH}/{made['id']}/content"),
        ("POST", f"{PATH}/{made['id']}/cancel"),
        ("POST", f"{PATH}/{made['id']}/resend"),
        ("GET", f"/v1/requests/{sent['request_id']}"),
        ("POST", f"/v1/requests/{sent['request_id']}/cancel"),
    ]:
        foreign = await globex(method, path)
        unknown = await globex(method, path.replace(made["id"][-4:], "0000").replace(sent["request_id"][-4:], "0000"))
        assert foreign.status_code == 404
        assert foreign.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}
    theirs = await globex("POST", PATH, SEND, headers={"Idempotency-Key": "same"})
    assert (theirs.status_code, "idempotency-replayed" in theirs.headers) == (202, False)


async def test_a_thousand_recipients_in_one_call(acme: Any, admin: asyncpg.Connection) -> None:
    everyone = [
        {"id": f"u{n}", "email": f"u{n}@example.com", "attributes": {"first_name": f"N{n}"}} for n in range(1000)
    ]
    sent = await acme.ok("POST", PATH, SEND | {"to": everyone})
    assert [one["recipient_id"] for one in sent["notifications"]] == [one["id"] for one in everyone]
    assert await admin.fetchval("select count(*) from queue") == 1000
    assert await admin.fetchval("select count(*) from template_versions") == 1


async def test_the_actor_is_not_told_what_they_did(acme: Any) -> None:
    content = {"subject": "A new comment", "text": "Read it."}
    people = [{"id": "ann", "email": "ann@example.com"}, {"id": "bob", "email": "bob@example.com"}]
    answer = await acme.ok("POST", "/v1/notifications", {"to": people, "actor": "ann", "content": content})
    assert [one["recipient_id"] for one in answer["notifications"]] == ["bob"]
    alone = {"to": "ann", "actor": "ann", "content": content}
    nobody = await acme.ok("POST", "/v1/notifications", alone, headers={"Idempotency-Key": "only-ann"})
    assert nobody["notifications"] == []
    assert (await acme.ok("GET", f"/v1/requests/{nobody['request_id']}"))["notifications"] == []


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"markdown": "**Hi** {{ name }}, {{ 5|money('EUR') }}"}, "<strong>Hi</strong> &lt;Ada&gt;"),
        ({"mjml": "<mjml><mj-body><mj-raw><i>{{ name }}</i></mj-raw></mj-body></mjml>"}, "<i>&lt;Ada&gt;</i>"),
        ({"html": "<p>{{ name | upcase }}</p>", "profile": "liquid"}, "<p>&lt;ADA&gt;</p>"),
        ({"html": "<p>{{ name }}</p>", "preheader": "For {{ name }}"}, "For &lt;Ada&gt;"),
    ],
)
async def test_the_content_of_a_call_may_be_written_in_any_format(
    content: dict[str, Any], found: str, acme: Any
) -> None:
    body = {"to": {"email": "ada@example.com", "locale": "de"}, "content": {"subject": "s", **content}}
    made = await acme("POST", PATH, {**body, "variables": {"name": "<Ada>"}})
    assert made.status_code == 202, made.text
    notification = made.json()["notifications"][0]["id"]
    shown = await acme.ok("GET", f"{PATH}/{notification}/content")
    assert found in shown["html"]
    again = await acme("POST", PATH, {**body, "variables": {"name": "<Ada>"}})
    assert again.status_code == 202


@pytest.mark.parametrize(
    ("content", "pointer", "code"),
    [
        ({"mjml": "<mjml><mj-buton/></mjml>"}, "/content/mjml", "invalid_mjml"),
        ({"markdown": "{% if x %}"}, "/content/markdown", "template_syntax"),
        ({"markdown": "x", "html": "y"}, "/content/markdown", "one_body"),
        ({"markdown": "{% include 'foot' %}"}, "/content/markdown", "unknown_partial"),
        ({"markdown": "x", "preheader": "{{ }}"}, "/content/preheader", "template_syntax"),
    ],
)
async def test_a_content_that_cannot_be_compiled_is_refused_where_it_was_written(
    content: dict[str, Any], pointer: str, code: str, acme: Any
) -> None:
    body = {"to": {"email": "ada@example.com"}, "content": {"subject": "s", **content}}
    refused = await acme("POST", PATH, body)
    assert refused.status_code == 422
    assert [(each["pointer"], each["code"]) for each in refused.json()["errors"]] == [(pointer, code)]
