"""Operations over HTTP: pauses, the queue, dead letters, alerts and who is told of them."""

from typing import Any

import asyncpg


async def test_pausing_listing_and_resuming(acme: Any, globex: Any) -> None:
    made = await acme.ok("POST", "/v1/pauses", {"scope": "channel", "id": "email", "reason": "outage"})
    again = await acme.ok("POST", "/v1/pauses", {"scope": "channel", "id": "email"})
    assert again["id"] == made["id"]
    assert (made["subject"], made["reason"], made["by_platform"]) == ("email", "outage", False)
    assert [one["id"] for one in (await acme.ok("GET", "/v1/pauses"))["items"]] == [made["id"]]
    assert (await globex.ok("GET", "/v1/pauses"))["items"] == []
    assert (await globex("DELETE", f"/v1/pauses/{made['id']}")).status_code == 404
    await acme.ok("DELETE", f"/v1/pauses/{made['id']}")
    assert (await acme.ok("GET", "/v1/pauses"))["items"] == []
    assert (await acme("DELETE", f"/v1/pauses/{made['id']}")).status_code == 404


async def test_a_paused_tenant_still_accepts_and_its_queue_says_so(acme: Any) -> None:
    await acme.ok("POST", "/v1/pauses", {"scope": "tenant"})
    message = {
        "to": {"email": "ada@example.com"},
        "content": {"subject": "s", "text": "t"},
        "category": "transactional",
    }
    sent = await acme.ok("POST", "/v1/notifications", message)
    queue = await acme.ok("GET", "/v1/queue")
    [lane] = queue["lanes"]
    assert (lane["channel"], lane["waiting"], lane["paused"], lane["capped"]) == ("email", 1, True, False)
    shown = await acme.ok("GET", f"/v1/notifications/{sent['notifications'][0]['id']}")
    assert shown["status"] == "queued"


async def test_a_platform_key_pauses_a_tenant_by_name(acme: Any, platform: Any) -> None:
    made = await platform.ok("POST", "/v1/pauses", {"scope": "tenant", "id": acme.tenant})
    assert (made["subject"], made["by_platform"]) == (acme.tenant, True)
    refused = await acme("DELETE", f"/v1/pauses/{made['id']}")
    assert (refused.status_code, refused.json()["code"]) == (403, "paused_by_platform")
    assert (await platform("POST", "/v1/pauses", {"scope": "channel", "id": "email"})).status_code == 422
    assert (await platform("POST", "/v1/pauses", {"scope": "tenant", "id": "nobody"})).status_code == 422
    listed = await platform.ok("GET", f"/v1/pauses?tenant={acme.tenant}")
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    await platform.ok("DELETE", f"/v1/pauses/{made['id']}?tenant={acme.tenant}")
    assert (await acme.ok("GET", "/v1/pauses"))["items"] == []
    assert (await platform.ok("GET", "/v1/queue"))["lanes"] == []


async def test_what_cannot_be_paused_is_named(acme: Any) -> None:
    for body in (
        {"scope": "channel", "id": "pigeon"},
        {"scope": "category"},
        {"scope": "broadcast", "id": "dbt_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"},
        {"scope": "account", "id": "acc_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"},
        {"scope": "tenant", "id": "somebody-else"},
    ):
        refused = await acme("POST", "/v1/pauses", body)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == "/id"
    refused = await acme("POST", "/v1/pauses", {"scope": "channel", "id": "pigeon", "reason": None})
    assert "email" in refused.json()["errors"][0]["message"]


async def test_a_sender_account_is_paused_by_its_own_id(acme: Any) -> None:
    account = {
        "name": "Relay", "kind": "smtp", "host": "smtp.example.com", "tls": "required", "auth": "plain",
        "username": "u", "secret": "hush", "from_address": "news@example.com",
    }  # fmt: skip
    made = await acme.ok("POST", "/v1/sender-accounts", account)
    paused = await acme.ok("POST", "/v1/pauses", {"scope": "account", "id": made["id"]})
    assert paused["subject"] == made["id"]
    assert [one["subject"] for one in (await acme.ok("GET", "/v1/pauses"))["items"]] == [made["id"]]
    await acme.ok("DELETE", f"/v1/pauses/{paused['id']}")


async def test_dead_letters_are_listed_in_plain_words_and_sent_again(acme: Any, admin: asyncpg.Connection) -> None:
    message = {
        "to": {"email": "ada@example.com"},
        "content": {"subject": "s", "text": "t"},
        "category": "transactional",
    }
    sent = await acme.ok("POST", "/v1/notifications", message)
    notification = sent["notifications"][0]["id"]
    await admin.execute(
        "with gone as (delete from queue where tenant_id = $1),"
        " ended as (update notifications set status = 7, reason = 'policy' where tenant_id = $1"
        " returning id, retention)"
        " insert into dead_letters (tenant_id, id, retention, at, reason, detail, channel, category, attempts, spent)"
        " select $1, id, retention, now(), 'refused', 'policy', 1, 1, 1, false from ended",
        acme.tenant,
    )
    [one] = (await acme.ok("GET", "/v1/dead-letters?reason=refused&channel=email"))["items"]
    assert (one["notification_id"], one["detail"], one["can_be_redriven"]) == (notification, "policy", True)
    assert "refused" in one["explanation"]
    assert (await acme.ok("GET", "/v1/dead-letters?template=welcome"))["items"] == []
    done = await acme.ok("POST", "/v1/dead-letters/redrive", {"filter": {"reason": "refused"}, "extend": "2h"})
    assert done == {"redriven": 1, "refused": [], "job_id": None}
    done = await acme.ok("POST", "/v1/dead-letters/redrive", {"ids": [notification]})
    assert done["refused"] == [{"notification_id": notification, "reason": "gone"}]
    assert (await acme.ok("GET", f"/v1/notifications/{notification}"))["status"] == "queued"
    for body in ({}, {"ids": [notification], "filter": {}}, {"ids": ["x"]}, {"filter": {}, "extend": "soon"}):
        assert (await acme("POST", "/v1/dead-letters/redrive", body)).status_code == 422


async def test_alert_targets_from_beginning_to_end(acme: Any, globex: Any) -> None:
    made = await acme.ok("POST", "/v1/alert-targets", {"email": "Ops@Example.com", "kinds": ["queue_stalled"]})
    assert made["secret"] is None
    path = f"/v1/alert-targets/{made['id']}"
    shown = await acme.ok("GET", path)
    assert (shown["kind"], shown["kinds"], shown["status"]) == ("email", ["queue_stalled"], "enabled")
    assert "ops" not in shown["target"].lower()
    assert (await globex("GET", path)).status_code == 404
    await acme.ok("POST", f"{path}/test")
    changed = await acme.ok("PATCH", path, {"status": "disabled", "kinds": []})
    assert (changed["status"], changed["kinds"]) == ("disabled", [])
    assert (await acme("POST", f"{path}/test")).status_code == 409
    await acme.ok("DELETE", path)
    assert (await acme.ok("GET", "/v1/alert-targets"))["items"] == []
    bare = await acme.ok("POST", "/v1/alert-targets", {"email": "a@example.com", "kinds": None, "description": None})
    path = f"/v1/alert-targets/{bare['id']}"
    assert (await acme.ok("PATCH", path, {"description": "night shift"}))["description"] == "night shift"
    assert (await acme.ok("PATCH", path, {"description": None}))["description"] == ""
    assert await acme.refused("PATCH", path, {"status": None}) == (422, "wrong_type", ["/status"])


async def test_an_alert_target_leads_to_one_public_place(acme: Any) -> None:
    for body in (
        {},
        {"email": "a@example.com", "url": "https://example.com"},
        {"email": "nonsense"},
        {"url": "http://127.0.0.1/hook"},
        {"url": "https://user:pass@example.com/hook"},
    ):
        assert (await acme("POST", "/v1/alert-targets", body)).status_code == 422


async def test_alerts_are_listed_newest_first(acme: Any, globex: Any, admin: asyncpg.Connection) -> None:
    await admin.execute(
        "insert into alerts (tenant_id, id, kind, subject, facts, opened_at, seen_at, closed_at)"
        " values ($1, '01900000-0000-7000-8000-000000000001', 'queue_stalled', 'email', '{\"oldest_seconds\": 900}',"
        " now(), now(), now()),"
        " ($1, '01900000-0000-7000-8000-000000000002', 'domain_lost', 'example.com', '{}', now(), now(), null)",
        acme.tenant,
    )
    assert [one["kind"] for one in (await acme.ok("GET", "/v1/alerts"))["items"]] == ["domain_lost", "queue_stalled"]
    [opened] = (await acme.ok("GET", "/v1/alerts?open=true"))["items"]
    assert opened["summary"].startswith("Domain example.com")
    assert (await acme.ok("GET", f"/v1/alerts/{opened['id']}"))["closed_at"] is None
    assert (await globex("GET", f"/v1/alerts/{opened['id']}")).status_code == 404
