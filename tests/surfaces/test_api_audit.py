"""Every administrative change leaves a row in the audit log: the routes come from the OpenAPI document."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.domains import PgDomains
from waypost.domains.model import KeyState
from waypost.kernel import ids

AUDITED = "x-audited"
CHANGES = {"post", "put", "patch", "delete"}
NOT_ADMINISTRATIVE = {
    "send_notification",
    "send_notifications",
    "send_event",
    "send_events",
    "post_message",
    "redrive_event",
    "cancel_notification",
    "cancel_request",
    "resend_notification",
    "cancel_timer",
    "report_seen",
    "issue_token",
    # Asks something that does not fit into an address, and changes nothing.
    "explain",
    "lint_version",
    "preview_unsaved",
    "preview_version",
    "verify_erasure",
    # A person's own doing.
    "archive_messages",
    "click_messages",
    "exchange_proof",
    "pin_messages",
    "put_my_preferences",
    "read_messages",
    "seen_messages",
    "snooze_messages",
    "unarchive_messages",
    "unpin_messages",
    "unread_messages",
    "unsnooze_messages",
}


async def _recipient(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "ada@example.com"})


async def _erased(acme: Any) -> Any:
    await _recipient(acme)
    return await acme.ok("DELETE", "/v1/recipients/u1")


async def _address(acme: Any) -> str:
    await _recipient(acme)
    return (await acme.ok("GET", "/v1/recipients/u1/addresses"))["items"][0]["id"]


WORDS = {"locales": {"en": {"subject": "s", "body": "t {{ unsubscribe_url }}", "format": "text"}}}


async def _two(acme: Any) -> None:
    await _recipient(acme)
    await acme.ok("PUT", "/v1/recipients/u2", {"tags": ["a"]})


async def _list(acme: Any) -> None:
    await _recipient(acme)
    await acme.ok("PUT", "/v1/lists/team", {})


async def _job(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/exports", {"kind": "recipients"}))["id"]


async def _template(acme: Any) -> None:
    await acme.ok("POST", "/v1/templates", {"key": "hello", "name": "Hello", "category": "marketing"})


async def _draft(acme: Any) -> None:
    await _template(acme)
    await acme.ok("POST", "/v1/templates/hello/email/versions", WORDS)


async def _model(acme: Any) -> None:
    await _template(acme)
    by_model = {"source": "ai_drafted", "provenance": {"model": "m"}}
    await acme.ok("POST", "/v1/templates/hello/email/versions", WORDS | by_model)


async def _suppression(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/suppressions", {"address": "ada@example.com"}))["id"]


async def _key(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/api-keys", {"name": "x", "scopes": ["audit:read"]}))["id"]


async def _topic(acme: Any) -> None:
    await acme.ok("PUT", "/v1/topics/news", TOPIC)


async def _person_and_topic(acme: Any) -> None:
    await _recipient(acme)
    await _topic(acme)


async def _trigger(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/triggers", CANCELLING))["id"]


async def _endpoint(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/webhook-endpoints", HOOK))["id"]


async def _account(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/sender-accounts", ACCOUNT))["id"]


async def _paused_account(acme: Any) -> str:
    made = await _account(acme)
    await acme.ok("POST", f"/v1/sender-accounts/{made}/pause")
    return made


async def _domain(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/domains", {"name": "example.com"}))["id"]


async def _signing_domain(acme: Any) -> str:
    made, store = await _domain(acme), PgDomains()
    domain_id = ids.read("dom", made)
    assert domain_id is not None
    async with acme.app.work.begin("acme") as tx:
        domain = await store.find(tx, domain_id)
        assert domain is not None
        await store.change(tx, replace(domain, keys=tuple(replace(key, state=KeyState.ACTIVE) for key in domain.keys)))
    return made


async def _delivery(acme: Any) -> str:
    endpoint = await _endpoint(acme)
    tested = await acme.ok("POST", f"/v1/webhook-endpoints/{endpoint}/test")
    return f"{endpoint}/deliveries/{tested['id']}"


async def _inbox(acme: Any) -> None:
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Main"})


async def _post(acme: Any) -> str:
    await _recipient(acme)
    await _inbox(acme)
    body = {"audience": {"kind": "users", "recipients": ["u1"]}, "title": "Hello"}
    return (await acme.ok("POST", "/v1/inboxes/main/posts", body))["id"]


async def _identity(acme: Any) -> None:
    await acme.ok("POST", "/v1/inbox-settings/identity-secret")


TOPIC = {"title": "News", "category": "marketing", "default": "opted_out"}
CANCELLING = {"event_type": "booking.cancelled", "cancels": "$.data.booking_id"}
ACCOUNT = {"kind": "smtp", "name": "Post", "from_address": "post@example.com", "host": "127.0.0.1"}
HOOK = {"url": "https://8.8.8.8/hooks", "events": ["notification.*"]}
AN_HOUR_AGO = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
GRANTED = {"topic": "news", "channel": "email", "state": "granted", "source": "signup", "text_version": "1"}


async def _pause(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/pauses", {"scope": "channel", "id": "sms"}))["id"]


async def _alert_target(acme: Any) -> str:
    return (await acme.ok("POST", "/v1/alert-targets", {"email": "ada@example.com"}))["id"]


SCENES: dict[str, tuple[Callable[[Any], Awaitable[Any]] | None, str, str, Any]] = {
    "create_tenant": (None, "POST", "/v1/tenants", {"id": "initech", "name": "Initech"}),
    "change_tenant": (None, "PATCH", "/v1/tenants/acme", {"name": "Other"}),
    "create_api_key": (None, "POST", "/v1/api-keys", {"name": "x", "scopes": ["audit:read"]}),
    "revoke_api_key": (_key, "DELETE", "/v1/api-keys/{made}", None),
    "put_recipient": (None, "PUT", "/v1/recipients/u1", {"email": "ada@example.com"}),
    "change_recipient": (_recipient, "PATCH", "/v1/recipients/u1", {"locale": "en"}),
    "erase_recipient": (_recipient, "DELETE", "/v1/recipients/u1", None),
    "replay_erasures": (_erased, "POST", "/v1/erasures/replay", lambda made: {"certificates": [made]}),
    "revoke_address": (_address, "DELETE", "/v1/recipients/u1/addresses/{made}", None),
    "add_address": (
        _recipient,
        "POST",
        "/v1/recipients/u1/addresses",
        {"channel": "email", "address": "b@example.com"},
    ),
    "change_address": (_address, "PATCH", "/v1/recipients/u1/addresses/{made}", {"verified": True}),
    "merge_recipient": (_two, "POST", "/v1/recipients/u1/merge", {"from": "u2"}),
    "set_tags": (_recipient, "PUT", "/v1/recipients/u1/tags", {"tags": ["x"]}),
    "add_tags": (_recipient, "POST", "/v1/recipients/u1/tags", {"tags": ["x"]}),
    "remove_tag": (_two, "DELETE", "/v1/recipients/u2/tags/a", None),
    "put_list": (None, "PUT", "/v1/lists/team", {}),
    "remove_list": (_list, "DELETE", "/v1/lists/team", None),
    "change_members": (_list, "POST", "/v1/lists/team/members", {"add": ["u1"]}),
    "start_import": (None, "POST", "/v1/imports", b"id,email\nu9,ada@example.com\n"),
    "start_export": (None, "POST", "/v1/exports", {"kind": "recipients"}),
    "cancel_job": (_job, "POST", "/v1/jobs/{made}/cancel", None),
    "create_template": (None, "POST", "/v1/templates", {"key": "hello", "name": "Hello", "category": "marketing"}),
    "create_version": (
        _template,
        "POST",
        "/v1/templates/hello/email/versions",
        WORDS,
    ),
    "change_template": (_template, "PATCH", "/v1/templates/hello/email", {"name": "Other"}),
    "archive_template": (_template, "POST", "/v1/templates/hello/email/archive", None),
    "publish_version": (_draft, "POST", "/v1/templates/hello/email/versions/1.0.0/publish", None),
    "archive_version": (_draft, "POST", "/v1/templates/hello/email/versions/1.0.0/archive", None),
    "approve_version": (
        _model,
        "POST",
        "/v1/templates/hello/email/versions/1.0.0/approve",
        {"approver": "Jane Roe"},
    ),
    "put_topic": (None, "PUT", "/v1/topics/news", TOPIC),
    "delete_topic": (_topic, "DELETE", "/v1/topics/news", None),
    "put_preferences": (
        _recipient,
        "PUT",
        "/v1/recipients/u1/preferences",
        {"channels": {"email": {"enabled": False}}},
    ),
    "record_consent": (_person_and_topic, "POST", "/v1/recipients/u1/consents", GRANTED),
    "change_settings": (None, "PATCH", "/v1/settings", {"consent_policy": "implied"}),
    "put_limits": (None, "PUT", "/v1/settings/limits", {"tenant": {"minute": 100}}),
    "import_suppressions": (None, "POST", "/v1/suppressions/import", {"csv": "address\nada@example.com\n"}),
    "create_trigger": (None, "POST", "/v1/triggers", CANCELLING),
    "change_trigger": (_trigger, "PATCH", "/v1/triggers/{made}", {"enabled": False}),
    "remove_trigger": (_trigger, "DELETE", "/v1/triggers/{made}", None),
    "create_pause": (None, "POST", "/v1/pauses", {"scope": "category", "id": "marketing"}),
    "end_pause": (_pause, "DELETE", "/v1/pauses/{made}", None),
    "redrive_dead_letters": (None, "POST", "/v1/dead-letters/redrive", {"filter": {}}),
    "create_alert_target": (None, "POST", "/v1/alert-targets", {"email": "ada@example.com"}),
    "change_alert_target": (_alert_target, "PATCH", "/v1/alert-targets/{made}", {"description": "x"}),
    "remove_alert_target": (_alert_target, "DELETE", "/v1/alert-targets/{made}", None),
    "test_alert_target": (_alert_target, "POST", "/v1/alert-targets/{made}/test", None),
    "create_sender_account": (None, "POST", "/v1/sender-accounts", ACCOUNT),
    "change_sender_account": (_account, "PATCH", "/v1/sender-accounts/{made}", {"daily_limit": 5}),
    "archive_sender_account": (_account, "DELETE", "/v1/sender-accounts/{made}", None),
    "pause_sender_account": (_account, "POST", "/v1/sender-accounts/{made}/pause", None),
    "resume_sender_account": (_paused_account, "POST", "/v1/sender-accounts/{made}/resume", None),
    "test_sender_account": (_account, "POST", "/v1/sender-accounts/{made}/test", None),
    "create_domain": (None, "POST", "/v1/domains", {"name": "example.com"}),
    "verify_domain": (_domain, "POST", "/v1/domains/{made}/verify", None),
    "rotate_domain_keys": (_signing_domain, "POST", "/v1/domains/{made}/rotate-keys", {}),
    "remove_domain": (_domain, "DELETE", "/v1/domains/{made}", None),
    "create_webhook_endpoint": (None, "POST", "/v1/webhook-endpoints", HOOK),
    "change_webhook_endpoint": (_endpoint, "PATCH", "/v1/webhook-endpoints/{made}", {"description": "x"}),
    "remove_webhook_endpoint": (_endpoint, "DELETE", "/v1/webhook-endpoints/{made}", None),
    "rotate_webhook_secret": (_endpoint, "POST", "/v1/webhook-endpoints/{made}/rotate-secret", {}),
    "test_webhook_endpoint": (_endpoint, "POST", "/v1/webhook-endpoints/{made}/test", None),
    "replay_webhooks": (_endpoint, "POST", "/v1/webhook-endpoints/{made}/replay", {"from": AN_HOUR_AGO}),
    "retry_webhook_delivery": (_delivery, "POST", "/v1/webhook-endpoints/{made}/retry", None),
    "put_inbox": (None, "PUT", "/v1/inboxes/main", {"title": "Main"}),
    "redact_post": (_post, "DELETE", "/v1/inboxes/main/posts/{made}", None),
    "change_inbox_settings": (None, "PATCH", "/v1/inbox-settings", {"ttl": "7d"}),
    "make_identity_secret": (None, "POST", "/v1/inbox-settings/identity-secret", None),
    "drop_identity_secret": (_identity, "DELETE", "/v1/inbox-settings/identity-secret", None),
    "end_tokens": (_recipient, "DELETE", "/v1/recipients/u1/token", None),
    "create_suppression": (None, "POST", "/v1/suppressions", {"address": "ada@example.com"}),
    "release_suppression": (_suppression, "DELETE", "/v1/suppressions/{made}", None),
}


async def test_every_changing_route_is_either_audited_or_a_send(anonymous: Any) -> None:
    document = json.loads((await anonymous.client.get("/openapi.json")).content)
    changing = {
        operation["operationId"]: operation.get(AUDITED, False)
        for path in document["paths"].values()
        for method, operation in path.items()
        if method in CHANGES
    }
    assert {name for name, audited in changing.items() if not audited} == NOT_ADMINISTRATIVE
    assert {name for name, audited in changing.items() if audited} == SCENES.keys()


@pytest.mark.parametrize("name", SCENES)
async def test_the_change_leaves_a_row_that_says_who_did_it(
    name: str, platform: Any, acme: Any, admin: asyncpg.Connection
) -> None:
    arrange, method, path, body = SCENES[name]
    made = await arrange(acme) if arrange else None
    caller = platform if "/v1/tenants" in path else acme
    before = {row["id"] for row in await admin.fetch("select id from audit")}
    more = {"headers": {"Content-Type": "text/csv"}} if isinstance(body, bytes) else {}
    answer = await caller(method, path.format(made=made), body(made) if callable(body) else body, **more)
    assert answer.is_success, answer.text
    rows = [row for row in await admin.fetch("select * from audit") if row["id"] not in before]
    assert rows
    for row in rows:
        assert row["request_id"] == answer.headers["waypost-request-id"]
        assert row["actor"].startswith("key_")
        assert "ada@example.com" not in str(row["detail"]) + row["subject"]
    shown = (await caller.ok("GET", "/v1/audit"))["items"][0]
    assert shown["request_id"] == answer.headers["waypost-request-id"]


async def test_a_refused_change_leaves_no_row(acme: Any, admin: asyncpg.Connection) -> None:
    before = await admin.fetchval("select count(*) from audit")
    await acme.refused("PUT", "/v1/recipients/u1", {"email": "no"})
    await acme.refused("POST", "/v1/api-keys", {"name": "x", "scopes": ["tenants:act"]})
    assert await admin.fetchval("select count(*) from audit") == before


async def test_each_tenant_reads_its_own_log(acme: Any, globex: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"locale": "en"})
    actions = [entry["action"] for entry in (await globex.ok("GET", "/v1/audit"))["items"]]
    assert "recipient.created" not in actions
