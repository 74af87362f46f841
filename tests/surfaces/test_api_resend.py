"""Sending again: a new notification, made of what the old one was made of, that goes the way of every message."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
from tests.batch_desk import SCOPE, Desk, desk

from waypost.bootstrap import App
from waypost.delivery.model import State
from waypost.kernel import ids
from waypost.kernel.vault import place
from waypost.notifications.model import SubmitCommand
from waypost.recipients.model import RecipientFields, Target
from waypost.templates.model import Content

__all__ = ["desk"]

PATH = "/v1/notifications"
TO = {"id": "user-42", "email": "jane@example.com", "locale": "de", "attributes": {"first_name": "Jane"}}
CONTENT = {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"}
SEND = {"to": TO, "content": CONTENT}


async def send(caller: Any, **more: Any) -> str:
    [made] = (await caller.ok("POST", PATH, SEND | more))["notifications"]
    return made["id"]


async def went_out(admin: asyncpg.Connection, *sent: str) -> None:
    """As a worker leaves it whose mail server took the message."""
    for one in sent:
        found = ids.read("ntf", one)
        await admin.execute("delete from queue where id = $1", found)
        await admin.execute("update notifications set secrets = null where id = $1", found)
        await admin.execute(
            "insert into attempts (tenant_id, notification_id, retention, n, worker_id, started_at, outcome)"
            " select tenant_id, id, retention, 1, id, now(), 1 from notifications where id = $1", found
        )  # fmt: skip


async def resend(caller: Any, sent: str, **options: Any) -> dict[str, Any]:
    [copy] = (await caller.ok("POST", f"{PATH}/{sent}/resend", **options))["notifications"]
    return copy


async def refused(caller: Any, sent: str) -> tuple[int, str]:
    status, code, pointers = await caller.refused("POST", f"{PATH}/{sent}/resend")
    assert pointers == []
    return status, code


async def steps(caller: Any, notification: str) -> list[dict[str, Any]]:
    return (await caller.ok("GET", f"{PATH}/{notification}/timeline"))["items"]


async def test_a_copy_is_a_notification_of_its_own(acme: Any, admin: asyncpg.Connection) -> None:
    more = {"priority": "low", "metadata": {"order": 7}, "reply_to": "help@example.com", "headers": {"X-Shop": "7"}}
    sent = await send(acme, **more, category="operational", cc=["boss@example.com"])
    await went_out(admin, sent)
    answer = await acme("POST", f"{PATH}/{sent}/resend")
    assert answer.status_code == 202
    accepted = answer.json()
    [copy] = accepted["notifications"]
    assert copy == {"id": copy["id"], "recipient_id": "user-42", "channel": "email", "status": "queued"}
    assert copy["id"] != sent

    first, second = [await acme.ok("GET", f"{PATH}/{one}") for one in (sent, copy["id"])]
    assert (first["resend_of"], second["resend_of"]) == (None, sent)
    assert second["request_id"] == accepted["request_id"] != first["request_id"]
    same = ("category", "priority", "channel", "recipient_id", "template", "metadata", "to")
    assert [second[name] for name in same] == [first[name] for name in same]
    request = await acme.ok("GET", f"/v1/requests/{accepted['request_id']}")
    assert [one["id"] for one in request["notifications"]] == [copy["id"]]
    before, after = [await acme.ok("GET", f"{PATH}/{one}/content") for one in (sent, copy["id"])]
    assert before["headers"].pop("Message-ID") != after["headers"].pop("Message-ID")
    assert after == before
    assert after["headers"]["X-Shop"] == "7"


async def test_both_timelines_tell_of_it(acme: Any, admin: asyncpg.Connection) -> None:
    sent = await send(acme)
    await went_out(admin, sent)
    copy = (await resend(acme, sent))["id"]
    assert [(one["event"], one["detail"]) for one in await steps(acme, copy)] == [
        ("accepted", {"channel": "email", "resend_of": sent})
    ]
    told = [one for one in await steps(acme, sent) if one["event"] == "resent"]
    assert [one["detail"] for one in told] == [{"resent_as": copy}]


async def _publish(acme: Any, text: str) -> None:
    words = {"subject": "Ihr Auftrag", "body": text, "format": "text"}
    locales = {"de": words, "en": words | {"body": "Hello"}}
    made = await acme.ok("POST", "/v1/templates/order/email/versions", {"locales": locales})
    await acme.ok("POST", f"/v1/templates/order/email/versions/{made['semver']}/publish")


async def test_it_says_what_it_said_whatever_has_changed_since(acme: Any, admin: asyncpg.Connection) -> None:
    await acme.ok("POST", "/v1/templates", {"key": "order", "name": "Order", "category": "operational"})
    await _publish(acme, "Hallo {{ first_name }}, {{ order }}")
    sent = await send(acme, content=None, template="order", variables={"order": 7})
    await went_out(admin, sent)
    await _publish(acme, "Neu: {{ order }}, {{ town }}")
    changed = {"email": "new@example.com", "locale": "en", "attributes": {"first_name": "Joan", "town": "Bonn"}}
    await acme.ok("PATCH", "/v1/recipients/user-42", changed)

    copy = await resend(acme, sent)
    shown = await acme.ok("GET", f"{PATH}/{copy['id']}")
    content = await acme.ok("GET", f"{PATH}/{copy['id']}/content")
    assert content["text"].strip() == "Hallo Jane, 7"
    assert (shown["template"], shown["to"], content["to"]) == ("order", "n***@example.com", "n***@example.com")


async def test_it_goes_to_whom_was_meant(acme: Any, admin: asyncpg.Connection) -> None:
    # By an address alone.
    sent = await send(acme, to={"email": "bare@example.com", "attributes": {"first_name": "B"}})
    await went_out(admin, sent)
    copy = await resend(acme, sent)
    assert copy["recipient_id"].startswith("rcp_")
    assert (await acme.ok("GET", f"{PATH}/{copy['id']}"))["to"] == "b***@example.com"
    # As someone who has become another since.
    sent = await send(acme)
    await went_out(admin, sent)
    await acme.ok("PUT", "/v1/recipients/joan", {"email": "joan@example.com"})
    await acme.ok("POST", "/v1/recipients/joan/merge", {"from": "user-42"})
    copy = await resend(acme, sent)
    assert copy["recipient_id"] == "joan"
    assert (await acme.ok("GET", f"{PATH}/{copy['id']}/content"))["subject"] == "Hello Jane"


async def test_who_may_not_be_written_to_is_not_written_to(acme: Any, admin: asyncpg.Connection) -> None:
    sent = await send(acme)
    await went_out(admin, sent)
    await acme.ok("POST", "/v1/suppressions", {"address": "jane@example.com"})
    copy = await resend(acme, sent)
    assert (copy["status"], copy["reason"]) == ("suppressed", "suppressed")
    assert [one["event"] for one in await steps(acme, copy["id"])] == ["accepted", "suppressed"]
    # What was held back is an end too, and can be sent once nothing stands in its way.
    [found] = (await acme.ok("GET", "/v1/suppressions"))["items"]
    await acme("DELETE", f"/v1/suppressions/{found['id']}")
    assert (await resend(acme, copy["id"]))["status"] == "queued"
    await acme.ok("PATCH", "/v1/recipients/user-42", {"email": None})
    assert (await resend(acme, sent))["reason"] == "no_address"


async def test_the_wish_not_to_be_followed_counts_now(acme: Any, admin: asyncpg.Connection) -> None:
    followed = await send(acme, tracking={"opens": True, "clicks": False})
    await went_out(admin, followed)
    first = await resend(acme, followed)
    await acme.ok("PUT", "/v1/recipients/user-42/preferences", {"channels": {"email": {"tracking": False}}})
    second = await resend(acme, followed)
    assert [await _tracks(acme, one["id"]) for one in (first, second)] == [1, 0]


async def _tracks(acme: Any, notification: str) -> int:
    found = ids.read("ntf", notification)
    notifications = acme.app.notifications
    async with acme.app.work.begin("acme") as tx:
        stored = (await notifications.read._store.by_ids(tx, [found]))[found]
        return (await notifications.read._opener.payload(tx, stored)).tracks


async def test_what_may_still_go_out_is_not_sent_again(acme: Any, admin: asyncpg.Connection) -> None:
    queued = await send(acme)
    planned = await send(acme, send_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    running = await send(acme)
    await went_out(admin, running)
    await admin.execute("update attempts set outcome = null where notification_id = $1", ids.read("ntf", running))
    for one in (queued, planned, running):
        assert await refused(acme, one) == (409, "not_ended")
    assert await admin.fetchval("select count(*) from notifications") == 3


async def test_every_end_can_be_sent_again(acme: Any, admin: asyncpg.Connection) -> None:
    for state in (one for one in State if one >= State.FAILED):
        sent = await send(acme)
        await admin.execute("delete from queue")
        await admin.execute(
            "update notifications set status = $1, reason = 'other' where id = $2", int(state), ids.read("ntf", sent)
        )
        assert (await acme.ok("GET", f"{PATH}/{sent}"))["status"] == state.word
        assert (await resend(acme, sent))["status"] == "queued", state


async def test_it_has_as_long_as_the_first_one_had(acme: Any, admin: asyncpg.Connection) -> None:
    soon = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
    sent = await send(acme, expires_at=soon)
    await admin.execute("delete from queue")
    # It ended long ago.
    await admin.execute(
        "update notifications set status = 10, send_at = send_at - interval '5 days',"
        " expires_at = expires_at - interval '5 days'"
    )
    shown = await acme.ok("GET", f"{PATH}/{(await resend(acme, sent))['id']}")
    lifetime = datetime.fromisoformat(shown["expires_at"]) - datetime.fromisoformat(shown["send_at"])
    assert timedelta(minutes=8) < lifetime < timedelta(minutes=11)
    assert datetime.fromisoformat(shown["expires_at"]) > datetime.now(UTC) + timedelta(minutes=4)


async def test_nothing_is_left_of_whoever_was_erased(acme: Any, admin: asyncpg.Connection) -> None:
    sent = await send(acme)
    await went_out(admin, sent)
    await acme.ok("DELETE", "/v1/recipients/user-42")
    assert await refused(acme, sent) == (409, "erased")


async def test_attachments_go_along_as_long_as_they_are_kept(acme: Any, admin: asyncpg.Connection) -> None:
    file = {"filename": "a.pdf", "content": base64.b64encode(b"%PDF").decode()}
    logo = {"filename": "l.png", "content": base64.b64encode(b"png").decode(), "disposition": "inline"}
    sent = await send(acme, attachments=[file, logo | {"content_id": "logo"}])
    await went_out(admin, sent)
    await admin.execute("update waypost.blobs set kept_until = now() + interval '1 day'")
    copy = await resend(acme, sent)
    before, after = [(await acme.ok("GET", f"{PATH}/{one}/content"))["attachments"] for one in (sent, copy["id"])]
    assert after == before
    assert [one["content_id"] for one in after] == [None, "logo"]
    # Kept as long as the new message needs them.
    kept = "select min(kept_until) > now() + interval '29 days' from waypost.blobs"
    assert await admin.fetchval(kept)
    await admin.execute("delete from waypost.blobs where kept_until is not null and octet_length(sealed) > 0")
    assert await refused(acme, sent) == (409, "attachment_missing")


async def _with_code(acme: Any) -> str:
    schema = {"type": "object", "properties": {"code": {"type": "string", "writeOnly": True}}}
    words = {"subject": "Your code", "body": "{% if code is defined %}{{ code }}{% endif %}", "format": "text"}
    await acme.ok("POST", "/v1/templates", {"key": "code", "name": "Code", "category": "security"})
    version = {"locales": {"en": words}, "variables_schema": schema}
    await acme.ok("POST", "/v1/templates/code/email/versions", version)
    await acme.ok("POST", "/v1/templates/code/email/versions/1.0.0/publish")
    return await send(acme, content=None, template="code", variables={"code": "s3cr3t"})


async def test_one_time_secrets_are_not_sent_twice(acme: Any, app: App, admin: asyncpg.Connection) -> None:
    sent = await _with_code(acme)
    await went_out(admin, sent)
    assert await refused(acme, sent) == (409, "secrets_gone")
    # Nor are those that no schema names.
    command = SubmitCommand(
        to=(Target(id="user-9", fields=RecipientFields(email="nine@example.com")),),
        content=Content(subject="Confirm", text="Follow {{ url }}"),
        variables={"url": "https://example.com/s3cr3t"},
        hidden=frozenset({"url"}),
    )
    async with app.work.begin("acme") as tx:
        [made] = (await app.notifications.submit(tx, SCOPE, command)).notifications
    sent = ids.show("ntf", made.id)
    await went_out(admin, sent)
    assert await refused(acme, sent) == (409, "secrets_gone")


async def test_secrets_that_never_went_out_go_along(acme: Any, app: App, admin: asyncpg.Connection) -> None:
    await acme.ok("POST", "/v1/suppressions", {"address": "jane@example.com"})
    sent = await _with_code(acme)
    copy = (await resend(acme, sent))["id"]
    assert "s3cr3t" not in str(await acme.ok("GET", f"{PATH}/{copy}/content"))
    found = ids.read("ntf", copy)
    async with app.work.begin("acme") as tx:
        stored = (await app.notifications.read._store.by_ids(tx, [found]))[found]
        opener = app.notifications.read._opener
        key, payload = await opener.data_key(tx, stored), await opener.payload(tx, stored)
    secrets = key.open(stored.secrets, place("secrets", "acme", stored.id))
    assert msgspec.msgpack.decode(secrets) == {"code": "s3cr3t"}
    assert "code" not in payload.context


async def test_one_key_sends_once(acme: Any, admin: asyncpg.Connection) -> None:
    sent = await send(acme)
    await went_out(admin, sent)
    key = {"headers": {"Idempotency-Key": "again-1"}}
    first, second = await resend(acme, sent, **key), await resend(acme, sent, **key)
    assert first == second
    other = await resend(acme, sent, headers={"Idempotency-Key": "again-2"})
    assert other["id"] != first["id"]
    # Also when the stored answer has been forgotten.
    await admin.execute("delete from idempotency_keys")
    assert (await resend(acme, sent, **key))["id"] == first["id"]
    told = [one["detail"]["resent_as"] for one in await steps(acme, sent) if one["event"] == "resent"]
    assert sorted(told) == sorted([first["id"], other["id"]])
    # The same word for another message names another copy.
    await went_out(admin, first["id"])
    assert (await resend(acme, first["id"], headers={"Idempotency-Key": "again-3"}))["id"] != first["id"]


async def test_only_who_may_send_may_send_again(acme: Any, admin: asyncpg.Connection) -> None:
    sent = await send(acme)
    await went_out(admin, sent)
    reader = await acme.with_scopes("acme", "notifications:read")
    assert (await reader.refused("POST", f"{PATH}/{sent}/resend"))[0] == 403
    assert await acme.refused("POST", f"{PATH}/ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q/resend") == (404, "not_found", [])


async def test_the_totals_of_a_batch_stay_what_they_are(desk: Desk, acme: Any, admin: asyncpg.Connection) -> None:
    batch = await desk.make()
    await desk.expansion.work_off()
    found = (await acme.ok("GET", f"{PATH}?recipient_id=user-3"))["items"]
    await went_out(admin, found[0]["id"])
    before = await desk.totals(batch)
    copy = await resend(acme, found[0]["id"])
    contents = [await acme.ok("GET", f"{PATH}/{one}/content") for one in (found[0]["id"], copy["id"])]
    assert contents[0]["text"] == contents[1]["text"]
    assert await desk.totals(batch) == before


async def test_a_copy_starts_no_escalation(acme: Any, admin: asyncpg.Connection) -> None:
    words = {"subject": "Look", "text": "Look here"}
    routing = {"channels": ["inapp", "email"], "routing": "until_seen", "after": "10m"}
    sent = await send(acme, content=words, **routing)
    waiting = "select count(*) from timers"
    before = await admin.fetchval(waiting)
    await went_out(admin, sent)
    copy = await resend(acme, sent)
    assert copy["channel"] == "inapp"
    assert before == await admin.fetchval(waiting) > 0
