"""The console in Chromium: nothing for axe to find, nothing that moves by itself, everything by keyboard."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from waypost.kernel import ids

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SHIFTS = """() => new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) total += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 300);
})"""


def listen(page: Any) -> list[str]:
    """What the page asks for from now on; the browser itself may still want the icon."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/assets/" not in request.url else None)
    return asked


async def violations(page: Any) -> list[str]:
    await page.evaluate(AXE)
    result = await page.evaluate(
        "(tags) => axe.run(document, { iframes: false, runOnly: { type: 'tag', values: tags } })", TAGS
    )
    return [f"{one['id']} {[node['html'][:160] for node in one['nodes']]}" for one in result["violations"]]


async def send(api: Any, **fields: Any) -> str:
    message = {
        "to": {"id": "jane-7", "email": "jane@example.com", "attributes": {"first_name": "Jane"}},
        "content": {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"},
    }
    return (await api.ok("POST", "/v1/notifications", message | fields))["notifications"][0]["id"]


@pytest.fixture
async def furnished(site: Any, admin: Any) -> list[str]:
    """Something of everything, and the paths of all pages that show it."""
    api = site.api
    body = {"key": "welcome", "channel": "email", "category": "marketing", "name": "Welcome mail"}
    await api.ok("POST", "/v1/templates", body)
    words = {"subject": "Hi {{ first_name }}", "body": '<p>Hi</p><a href="{{ unsubscribe_url }}">No more</a>'}
    await api.ok("POST", "/v1/templates/welcome/email/versions", {"locales": {"en": words}})
    await api.ok("POST", "/v1/templates/welcome/email/versions/1.0.0/publish")
    arabic = words | {"subject": "مرحبا"}
    await api.ok("POST", "/v1/templates/welcome/email/versions", {"locales": {"en": words, "ar": arabic}})
    sent = await send(api, metadata={"order": 7})
    await send(api, template="welcome", content=None)
    await send(api, send_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    suppression = {"channel": "email", "address": "gone@example.com", "reason": "complaint"}
    await api.ok("POST", "/v1/suppressions", suppression)
    await send(api, to={"id": "gone", "email": "gone@example.com", "attributes": {"first_name": "G"}})
    hook = (await api.ok("POST", "/v1/webhook-endpoints", {"url": "https://8.8.8.8/hooks", "events": ["*"]}))["id"]
    await api.ok("POST", f"/v1/webhook-endpoints/{hook}/test")
    for n, (outcome, reason) in enumerate([(2, "slow_down"), (4, "connection"), (5, "timeout"), (1, None)], 1):
        await admin.execute(
            "insert into attempts (tenant_id, notification_id, retention, n, worker_id, started_at, latency_ms, "
            "outcome, code, reason) values ('acme', $1, 1, $2, $1, now(), 120, $3, 451, $4)",
            ids.read("ntf", sent),
            n,
            outcome,
            reason,
        )
    return [
        "/",
        "/?window=30d",
        "/messages",
        "/messages?status=failed",
        *(f"/messages/{sent}?tab={tab}" for tab in ("html", "text", "source", "headers")),
        "/recipients",
        "/recipients/gone",
        "/recipients/nobody",
        "/templates",
        "/templates?owner=platform",
        "/templates/new",
        "/templates/welcome/email",
        "/templates/welcome/email/versions/1.1.0?locale=ar",
        "/templates/welcome/email/edit",
        "/templates/welcome/email/diff?from=1.0.0&to=1.1.0",
        "/suppressions",
        "/webhooks",
        "/operations",
        "/webhooks/new",
        f"/webhooks/{hook}",
        "/mailbox",
        "/keys",
        "/keys/new",
        "/audit",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_axe_finds_nothing(sign_in: Any, site: Any, furnished: list[str], scheme: str, width: int) -> None:
    page = await sign_in(scheme=scheme, width=width)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    found: list[str] = []
    for path in furnished:
        await page.goto(site.url + path)
        found += [f"{path}: {one}" for one in await violations(page)]
        too_wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if too_wide > 0:
            found.append(f"{path}: {too_wide} px too wide")
    assert found == []
    # A page that is refused is one line in the browser's console; anything else is ours.
    assert [text for text in complaints if "404 (Not Found)" not in text] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_where_keys_are_made_and_tenants_chosen(
    sign_in: Any, site: Any, platform: Any, scheme: str
) -> None:
    page = await sign_in(platform.key, scheme=scheme, width=360)
    await page.wait_for_url("**/tenants")
    assert await violations(page) == []
    await page.goto(f"{site.url}/keys/new")
    await page.get_by_label("Name").fill("shop backend")
    await page.get_by_role("button", name="Make the key").click()
    await page.get_by_text("Name at least one scope.").wait_for()
    assert await violations(page) == []
    await page.get_by_label("audit:read").check()
    await page.get_by_role("button", name="Make the key").click()
    await page.get_by_role("heading", name="Here is the key").wait_for()
    assert await violations(page) == []
    await page.goto(f"{site.url}/keys")
    await page.get_by_text("Revoke", exact=True).first.click()
    assert await violations(page) == []


@pytest.mark.parametrize("path", ["/sign-in", "/assets/nothing"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_outside(browser: Any, site: Any, path: str, scheme: str) -> None:
    page = await (await browser.new_context(color_scheme=scheme)).new_page()
    await page.goto(site.url + path)
    assert await violations(page) == []


async def test_axe_would_find_something(browser: Any) -> None:
    page = await browser.new_page()
    await page.set_content("<html><body><img src=x><button></button></body></html>")
    await page.evaluate(AXE)
    assert (await page.evaluate("axe.run()"))["violations"]


async def test_nothing_moves_by_itself(sign_in: Any, site: Any, furnished: list[str]) -> None:
    page = await sign_in()
    for path in furnished:
        await page.goto(site.url + path)
        assert await page.evaluate(SHIFTS) < 0.005, path


async def test_new_messages_appear_and_the_reader_keeps_their_place(sign_in: Any, site: Any) -> None:
    first = await send(site.api)
    page = await sign_in()
    await page.goto(f"{site.url}/messages")
    link = page.locator(f'a[href="/messages/{first}"]')
    await link.focus()
    second = await send(site.api, to={"id": "paul-8", "email": "p@example.com"}, content={"subject": "s", "text": "t"})
    await page.locator(f'tr.fresh a[href="/messages/{second}"]').wait_for(timeout=10_000)
    assert await page.evaluate("document.activeElement.getAttribute('href')") == f"/messages/{first}"
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/messages/{first}")


async def test_a_pause_is_a_pause(sign_in: Any, site: Any) -> None:
    await send(site.api)
    page = await sign_in()
    await page.goto(f"{site.url}/messages")
    await page.get_by_role("button", name="Pause").click()
    asked = listen(page)
    await page.wait_for_timeout(2_600)
    assert asked == []


async def test_everything_is_reached_by_keyboard(sign_in: Any, site: Any) -> None:
    sent = await send(site.api)
    page = await sign_in()
    await page.goto(f"{site.url}/messages")
    reached: list[str] = []
    for _ in range(40):
        await page.keyboard.press("Tab")
        seen = await page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.getAttribute('href') || "
            "e.name || e.textContent.trim(), s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
        )
        reached.append(seen[0])
        assert seen[1] != "none", seen
        assert seen[2] >= 2, seen
        if seen[0] == f"/messages/{sent}":
            break
    assert reached[0] == "#content"
    assert {"/messages", "/keys", "status", "category", "recipient", f"/messages/{sent}"} <= set(reached)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/messages/{sent}")


async def test_the_menu_opens_on_a_small_screen(sign_in: Any, site: Any) -> None:
    page = await sign_in(width=360)
    await page.goto(f"{site.url}/messages")
    entry = page.get_by_role("link", name="Audit")
    assert not await entry.is_visible()
    await page.get_by_label("Show the menu").focus()
    await page.keyboard.press("Space")
    await entry.click()
    await page.wait_for_url("**/audit")


async def test_the_console_works_without_scripts(browser: Any, site: Any) -> None:
    sent = await send(site.api, send_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    page = await (await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(f"{site.url}/messages/{sent}")
    await page.get_by_label("API key").fill(site.api.key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"**/messages/{sent}")
    await page.get_by_text("Cancel", exact=True).click()
    await page.get_by_role("button", name="Cancel this message").click()
    await page.get_by_text("It was cancelled before it went out.").wait_for()
    await page.get_by_role("button", name="Dark").click()
    assert await page.locator("html").get_attribute("data-theme") == "dark"


async def test_a_secret_is_copied(sign_in: Any, site: Any) -> None:
    page = await sign_in()
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(f"{site.url}/keys/new")
    await page.get_by_label("Name").fill("shop backend")
    await page.get_by_label("audit:read").check()
    await page.get_by_role("button", name="Make the key").click()
    await page.get_by_role("button", name="Copy").click()
    await page.get_by_text("Copied").wait_for()
    secret = await page.locator("#secret").inner_text()
    assert secret.startswith("wp_test_")
    assert await page.evaluate("navigator.clipboard.readText()") == secret


async def test_what_is_being_read_is_left_alone(sign_in: Any, site: Any) -> None:
    await send(site.api)
    page = await sign_in()
    await page.clock.install()
    await page.goto(f"{site.url}/")
    summary = page.locator("#open-throughput")
    asked = listen(page)
    await summary.click()
    await page.clock.fast_forward(25_000)
    assert asked == []
    async with page.expect_request("**/?window=1h"):
        await summary.click()
        await page.clock.fast_forward(11_000)
    await page.wait_for_load_state("networkidle")
    assert await page.evaluate("document.activeElement.id") == "open-throughput"
