"""The console over HTTP: coming in, what the pages show, and what they refuse."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import httpx
import pytest

from waypost.api.app import create_app
from waypost.console.attempts import MOST_FAILED
from waypost.console.door import POLICY
from waypost.console.pages import ALL_PAGES
from waypost.kernel.tenancy import Permission

HOST = "http://waypost"
MESSAGE = {
    "to": {"id": "jane-7", "email": "jane@example.com", "attributes": {"first_name": "Jane"}},
    "content": {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"},
}


LATER = {"send_at": (datetime.now(UTC) + timedelta(days=2)).isoformat()}


class Browser:
    """Someone with a browser: cookies, forms, and the Origin that browsers send."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers=headers)

    async def post(self, path: str, data: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        return await self.client.post(path, data=data or {}, headers={"Origin": HOST, **headers})

    async def sign_in(self, key: str) -> httpx.Response:
        return await self.post("/sign-in", {"key": key, "next": "/"})

    async def proof(self, path: str = "/keys/new") -> str:
        found = re.search(r'name="proof" value="([0-9a-f]{64})"', (await self.get(path)).text)
        assert found
        return found[1]

    async def submit(self, path: str, data: dict[str, Any] | None = None) -> httpx.Response:
        return await self.post(path, {"proof": await self.proof(), **(data or {})})


@pytest.fixture
async def open_browser(app: Any) -> Any:
    opened: list[httpx.AsyncClient] = []

    async def open_one(key: str = "") -> Browser:
        transport = httpx.ASGITransport(create_app(app), raise_app_exceptions=False)
        opened.append(httpx.AsyncClient(transport=transport, base_url=HOST))
        browser = Browser(opened[-1])
        if key:
            assert (await browser.sign_in(key)).headers["location"] == "/"
        return browser

    yield open_one
    for client in opened:
        await client.aclose()


Open = Callable[..., Awaitable[Browser]]


async def send(api: Any, **fields: Any) -> str:
    return (await api.ok("POST", "/v1/notifications", MESSAGE | fields))["notifications"][0]["id"]


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


async def test_a_form_from_elsewhere_is_refused(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    sent = await send(acme, **LATER)
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


async def test_every_page_is_kept_by_its_policy(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    for page in ALL_PAGES:
        if page.method == "GET" and "{" not in page.path and page.path != "/tenants":
            answer = await browser.get(page.path)
            assert answer.status_code == 200, page.path
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["cache-control"] == "no-store"
            assert not re.search(r"<script(?![^>]* src=)|\son\w+=|\sstyle=|javascript:", answer.text), page.path


async def test_files_carry_their_hash_and_are_kept_for_ever(open_browser: Open) -> None:
    browser = await open_browser()
    page = (await browser.get("/sign-in")).text
    named = re.findall(r'"(/assets/[^"]+)"', unescape(page))
    assert named
    for path in named:
        answer = await browser.get(path)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (await browser.get("/assets/console.css")).status_code == 404


async def test_a_message_is_listed_shown_and_cancelled(open_browser: Open, acme: Any) -> None:
    sent = await send(acme, **LATER)
    browser = await open_browser(acme.key)
    assert "jane-7" in (await browser.get("/messages")).text
    page = (await browser.get(f"/messages/{sent}")).text
    assert "Hello Jane" in page
    assert "j***@example.com" in page
    assert "jane@example.com" not in page
    assert "It waits for its time." in page
    cancelled = await browser.submit(f"/messages/{sent}/cancel")
    assert cancelled.headers["location"] == f"/messages/{sent}"
    assert "It was cancelled before it went out." in (await browser.get(f"/messages/{sent}")).text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", True),
        ("?status=queued", True),
        ("?status=failed", False),
        ("?category=marketing", False),
        ("?recipient=jane-7", True),
        ("?recipient=nobody", False),
        ("?status=nonsense", True),
    ],
)
async def test_the_list_is_filtered(open_browser: Open, acme: Any, query: str, found: bool) -> None:
    await send(acme)
    browser = await open_browser(acme.key)
    rows = (await browser.get(f"/messages{query}")).text.partition('id="rows"')[2]
    assert (">jane-7</a>" in rows) is found


async def test_the_live_list_says_nothing_until_something_happens(open_browser: Open, acme: Any) -> None:
    first = await send(acme)
    browser = await open_browser(acme.key)
    live = re.search(r'hx-get="(/messages/rows[^"]+)"', unescape((await browser.get("/messages")).text))
    assert live
    path = live[1]
    assert (await browser.get(path)).status_code == 204
    second = await send(acme, to={"id": "paul-8", "email": "paul@example.com"}, content={"subject": "x", "text": "y"})
    rows = (await browser.get(path)).text
    assert re.search(rf'class="fresh">.*?{second}', rows, re.DOTALL)
    assert not re.search(rf'class="fresh">(?:(?!</tr>).)*{first}', rows, re.DOTALL)


async def test_an_ended_session_sends_the_live_list_to_the_door(open_browser: Open) -> None:
    browser = await open_browser()
    answer = await browser.get("/messages/rows", **{"HX-Request": "true"})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/sign-in")


async def test_the_preview_stands_alone_and_can_do_nothing(open_browser: Open, acme: Any) -> None:
    html = '<a HREF = "https://evil.example">x</a><link rel=preconnect href=//evil.example><form action="/x">'
    sent = await send(acme, content={"subject": "s", "html": html})
    browser = await open_browser(acme.key)
    answer = await browser.get(f"/messages/{sent}/preview")
    assert (
        answer.headers["content-security-policy"]
        == "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    assert not re.search(r"(?i)(?<!data-inert-)(href|action)\s*=", answer.text)


async def test_words_of_others_are_escaped(open_browser: Open, acme: Any) -> None:
    hostile = "<script>alert(1)</script>"
    sent = await send(
        acme,
        to={"id": "mallory", "email": "m@example.com", "attributes": {"name": hostile}},
        content={"subject": "{{ name }}", "text": hostile, "html": "<b>x</b>"},
        metadata={hostile: hostile},
    )
    browser = await open_browser(acme.key)
    for path in ("", "?tab=text", "?tab=source", "?tab=headers"):
        assert hostile not in (await browser.get(f"/messages/{sent}{path}")).text
    assert hostile not in (await browser.get("/recipients/mallory")).text


async def test_a_person_s_story(open_browser: Open, acme: Any) -> None:
    sent = await send(acme)
    await acme.ok(
        "POST", "/v1/suppressions", {"channel": "email", "address": "jane@example.com", "reason": "complaint"}
    )
    browser = await open_browser(acme.key)
    found = await browser.get("/recipients?id=jane-7")
    assert found.headers["location"] == "/recipients/jane-7"
    page = (await browser.get("/recipients/jane-7")).text
    assert sent in page
    assert "complaint" in page
    assert "j***@example.com" in page
    assert "jane@example.com" not in page
    assert (await browser.get("/recipients/nobody")).status_code == 404


async def test_a_key_is_made_shown_once_and_revoked(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    nameless = await browser.submit("/keys", {"name": " ", "scopes": ["audit:read"]})
    assert nameless.status_code == 422
    made = await browser.submit("/keys", {"name": "shop", "scopes": ["audit:read", "mailbox:read"], "lasts": "30"})
    secret = re.search(r"wp_test_[\w-]{47}", made.text)
    assert secret
    listed = await browser.get("/keys")
    assert secret[0] not in listed.text
    assert ">shop<" in listed.text
    (key_id,) = [key["id"] for key in (await acme.ok("GET", "/v1/api-keys"))["items"] if key["name"] == "shop"]
    assert (await browser.submit(f"/keys/{key_id}/revoke")).headers["location"] == "/keys"
    assert "api_key.revoked" in (await browser.get("/audit")).text


async def test_an_address_is_suppressed_and_released(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    refused = await browser.submit("/suppressions", {"address": "nonsense", "reason": "manual"})
    assert refused.status_code == 422
    assert "not an email address" in refused.text
    await browser.submit("/suppressions", {"address": "jane@example.com", "reason": "manual"})
    assert "j***@example.com" in (await browser.get("/suppressions")).text
    (standing,) = (await acme.ok("GET", "/v1/suppressions"))["items"]
    await browser.submit(f"/suppressions/{standing['id']}/release")
    assert "Nothing is suppressed" in (await browser.get("/suppressions")).text


async def test_templates_and_their_versions(open_browser: Open, acme: Any) -> None:
    body = {"key": "welcome", "channel": "email", "category": "marketing", "name": "Welcome mail"}
    await acme.ok("POST", "/v1/templates", body)
    words = {"subject": "Hi", "body": "Hello", "format": "text"}
    await acme.ok("POST", "/v1/templates/welcome/email/versions", {"locales": {"en": words}})
    browser = await open_browser(acme.key)
    assert "Welcome mail" in (await browser.get("/templates")).text
    page = (await browser.get("/templates/welcome/email")).text
    assert "1.0.0" in page
    assert "draft" in page


async def test_a_page_is_closed_to_a_key_without_its_scope(open_browser: Open, acme: Any) -> None:
    browser = await open_browser((await acme.with_scopes("acme", Permission.AUDIT_READ)).key)
    assert (await browser.get("/audit")).status_code == 200
    assert "may not read messages" in (await browser.get("/")).text
    for page in ALL_PAGES:
        if page.permission not in (None, Permission.AUDIT_READ):
            path = re.sub(r"{\w+}", "x", page.path)
            answer = await (browser.get(path) if page.method == "GET" else browser.post(path))
            assert answer.status_code == 403, page.path


async def test_nothing_of_another_tenant_is_shown(open_browser: Open, acme: Any, globex: Any) -> None:
    sent = await send(acme)
    browser = await open_browser(globex.key)
    for path in (f"/messages/{sent}", f"/messages/{sent}/preview", "/recipients/jane-7"):
        foreign = await browser.get(path)
        unknown = await browser.get(path.replace(sent, "ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q").replace("jane-7", "nobody"))
        assert foreign.status_code == unknown.status_code == 404
    assert "jane-7" not in (await browser.get("/messages")).text


async def test_a_platform_key_chooses_its_tenant(open_browser: Open, platform: Any, acme: Any) -> None:
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


async def test_the_light_switch_is_remembered(open_browser: Open) -> None:
    browser = await open_browser()
    assert 'data-theme="system"' in (await browser.get("/sign-in")).text
    assert (await browser.post("/theme", {"theme": "dark", "back": "/sign-in"})).headers["location"] == "/sign-in"
    assert 'data-theme="dark"' in (await browser.get("/sign-in")).text
    await browser.post("/theme", {"theme": '"><script>', "back": "//evil.example"})
    assert 'data-theme="dark"' in (await browser.get("/sign-in")).text


async def test_the_overview_counts_what_was_accepted(open_browser: Open, acme: Any) -> None:
    await acme.ok(
        "POST", "/v1/suppressions", {"channel": "email", "address": "gone@example.com", "reason": "complaint"}
    )
    await send(acme)
    await send(acme, to={"id": "gone", "email": "gone@example.com", "attributes": {"first_name": "G"}})
    browser = await open_browser(acme.key)
    for window in ("1h", "24h", "7d", "30d", "nonsense"):
        page = (await browser.get(f"/?window={window}")).text
        assert "2 messages accepted" in page
        assert "1 waiting, 1 suppressed" in page


@pytest.mark.parametrize("junk", ["%00", "%FF", "x" * 300, "%F0%9F%92%A5", "a%0Ab", "%27%22%3E%3Cb%3E", "-1"])
async def test_junk_in_a_path_or_a_query_is_refused_or_ignored(open_browser: Open, acme: Any, junk: str) -> None:
    browser = await open_browser(acme.key)
    for page in ALL_PAGES:
        if page.method == "GET":
            path = re.sub(r"{\w+}", junk, page.path)
            query = "&".join(
                f"{name}={junk}" for name in ("cursor", "status", "recipient", "id", "tab", "window", "seen")
            )
            for asked in (path, f"{path}?{query}", f"{path}?{junk}"):
                answer = await browser.get(asked)
                assert answer.status_code < 500, asked
                assert "<b>" not in answer.text


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
