"""The console's door over HTTP: coming in, sessions, proofs, tenants, and what is closed to whom."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import httpx
import pytest

from waypost.console.attempts import MOST_FAILED
from waypost.console.pages import ALL_PAGES
from waypost.kernel.tenancy import Permission

Open = Callable[..., Any]


async def test_a_key_opens_a_session_that_lasts_and_shows_nothing(open_browser: Open, acme: Any) -> None:
    browser = await open_browser()
    away = await browser.get("/messages")
    assert (away.status_code, away.headers["location"]) == (303, "/sign-in?next=/messages")
    entered = await browser.sign_in(acme.key)
    cookie = entered.headers["set-cookie"]
    assert entered.status_code == 303
    assert {"HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"} <= set(cookie.split("; "))
    assert acme.key not in cookie
    assert (await browser.get("/")).status_code == 200


async def test_a_session_over_https_is_bound_to_the_host(open_browser: Open, acme: Any) -> None:
    browser = await open_browser()
    browser.client.base_url = httpx.URL("https://waypost")
    cookie = (await browser.post("/sign-in", {"key": acme.key}, Origin="https://waypost")).headers["set-cookie"]
    assert cookie.startswith("__Host-waypost_session=")
    assert "Secure" in cookie
    assert "Domain" not in cookie


async def test_a_wrong_key_is_refused_and_guessing_is_stopped(open_browser: Open, acme: Any) -> None:
    browser = await open_browser()
    for _ in range(MOST_FAILED):
        answer = await browser.sign_in("wp_test_nothing")
        assert answer.status_code == 401
        assert "unknown, expired or revoked" in answer.text
    stopped = await browser.sign_in(acme.key)
    assert stopped.status_code == 429
    assert 0 < int(stopped.headers["retry-after"]) <= 300


async def test_a_session_ends_with_its_key(open_browser: Open, acme: Any) -> None:
    key = await acme.with_scopes("acme", Permission.NOTIFICATIONS_READ)
    browser = await open_browser(key.key)
    keys = await acme.ok("GET", "/v1/api-keys")
    newest = keys["items"][0]["id"]
    await acme.ok("DELETE", f"/v1/api-keys/{newest}")
    ended = await browser.get("/messages")
    assert ended.headers["location"].startswith("/sign-in")
    assert "Max-Age=0" in ended.headers["set-cookie"]


async def test_signing_out_takes_the_cookie_away(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    assert (await browser.post("/sign-out")).headers["location"] == "/sign-in"
    assert (await browser.get("/")).headers["location"] == "/sign-in"


@pytest.mark.parametrize("token", ["", "x", "AAAA", "é", "A" * 5000])
async def test_a_made_up_session_is_none(open_browser: Open, token: str) -> None:
    browser = await open_browser()
    answer = await browser.client.get("/", headers={"Cookie": f"waypost_session={token}".encode()})
    assert answer.status_code == 303


async def test_an_altered_session_is_none(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    token = browser.client.cookies["waypost_session"]
    for place in {*range(0, len(token), 7), len(token) - 1}:
        altered = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        answer = await browser.client.get("/", headers={"Cookie": f"waypost_session={altered}"})
        assert answer.status_code == 303


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)"])
async def test_signing_in_leads_to_our_own_pages_only(open_browser: Open, acme: Any, path: str) -> None:
    browser = await open_browser()
    assert (await browser.post("/sign-in", {"key": acme.key, "next": path})).headers["location"] == "/"


async def test_a_form_from_elsewhere_is_refused(open_browser: Open, acme: Any, send: Any) -> None:
    browser = await open_browser(acme.key)
    sent = await send(acme, send_at=(datetime.now(UTC) + timedelta(days=2)).isoformat())
    proof = await browser.proof()
    path = f"/messages/{sent}/cancel"
    foreign = await browser.post(path, {"proof": proof}, Origin="https://evil.example")
    silent = await browser.client.post(path, data={"proof": proof})
    unproved = await browser.post(path, {"other": "field"})
    forged = await browser.post(path, {"proof": "0" * 64})
    for refused in (foreign, silent, unproved, forged):
        assert refused.status_code == 403
        assert "foreign_form" in refused.text
    assert (await acme.ok("GET", f"/v1/notifications/{sent}"))["status"] == "scheduled"


async def test_the_proof_of_one_session_is_none_in_another(open_browser: Open, acme: Any) -> None:
    mine, theirs = await open_browser(acme.key), await open_browser(acme.key)
    refused = await mine.post("/keys", {"proof": await theirs.proof(), "name": "x", "scopes": "audit:read"})
    assert refused.status_code == 403


async def test_a_page_is_closed_to_a_key_without_its_scope(open_browser: Open, acme: Any) -> None:
    browser = await open_browser((await acme.with_scopes("acme", Permission.AUDIT_READ)).key)
    assert (await browser.get("/audit")).status_code == 200
    assert "may not read messages" in (await browser.get("/")).text
    for page in ALL_PAGES:
        if page.permission not in (None, Permission.AUDIT_READ):
            path = re.sub(r"{\w+}", "x", page.path)
            answer = await (browser.get(path) if page.method == "GET" else browser.post(path))
            assert answer.status_code == 403, page.path


async def test_nothing_of_another_tenant_is_shown(open_browser: Open, acme: Any, globex: Any, send: Any) -> None:
    sent = await send(acme)
    browser = await open_browser(globex.key)
    for path in (f"/messages/{sent}", f"/messages/{sent}/preview", "/recipients/jane-7"):
        foreign = await browser.get(path)
        unknown = await browser.get(path.replace(sent, "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q").replace("jane-7", "nobody"))
        assert foreign.status_code == unknown.status_code == 404
    assert "jane-7" not in (await browser.get("/messages")).text


async def test_a_platform_key_chooses_its_tenant(open_browser: Open, platform: Any, acme: Any, send: Any) -> None:
    sent = await send(acme)
    browser = await open_browser(platform.key)
    assert (await browser.get("/")).headers["location"] == "/tenants"
    assert "acme" in (await browser.get("/tenants")).text
    nobody = await browser.submit("/tenants/act", {"tenant": "nobody"})
    assert nobody.status_code == 403
    assert (await browser.submit("/tenants/act", {"tenant": "acme"})).headers["location"] == "/"
    assert "jane-7" in (await browser.get(f"/messages/{sent}")).text
    await browser.submit("/suppressions", {"address": "a@example.com", "reason": "manual"})
    entry = (await acme.ok("GET", "/v1/audit"))["items"][0]
    assert entry["acting_as"] == "acme"
    assert (await browser.submit("/tenants/act")).headers["location"] == "/tenants"
    assert (await browser.get(f"/messages/{sent}")).status_code == 403


async def test_a_tenant_s_key_chooses_none(open_browser: Open, acme: Any, globex: Any) -> None:
    browser = await open_browser(acme.key)
    assert (await browser.get("/tenants")).status_code == 403
    assert (await browser.submit("/tenants/act", {"tenant": "globex"})).status_code == 403


async def test_a_tenant_on_its_way_out_leaves_a_way_out(open_browser: Open, platform: Any, acme: Any) -> None:
    browser = await open_browser(acme.key)
    await platform.ok("PATCH", "/v1/tenants/acme", {"status": "deleting"})
    refused = await browser.get("/")
    assert refused.status_code == 403
    assert unescape('action="/sign-out"') in unescape(refused.text)


async def test_a_suspended_tenant_is_read_and_nothing_else(open_browser: Open, platform: Any, acme: Any) -> None:
    browser = await open_browser(acme.key)
    await platform.ok("PATCH", "/v1/tenants/acme", {"status": "suspended"})
    assert (await browser.get("/messages")).status_code == 200
    assert 'href="/keys"' not in unescape((await browser.get("/messages")).text)
    assert (await browser.get("/keys/new")).status_code == 403
