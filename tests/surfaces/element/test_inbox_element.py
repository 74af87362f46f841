"""The inbox element in Chromium, on a page of another site whose policy forbids nearly everything."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from waypost.api import element

AXE = (Path(__file__).parent.parent / "console" / "axe" / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FOLDER = Path(element.__file__).parent


async def violations(page: Any) -> list[str]:
    await page.evaluate(AXE)
    result = await page.evaluate("(tags) => axe.run(document, { runOnly: { type: 'tag', values: tags } })", TAGS)
    return [f"{one['id']} {[node['html'][:160] for node in one['nodes']]}" for one in result["violations"]]


def badge(page: Any) -> Any:
    return page.locator("waypost-inbox .badge")


async def shows(locator: Any, text: str) -> None:
    """Waits, as a person would."""
    from playwright.async_api import expect

    await expect(locator).to_have_text(text, timeout=15_000)


async def counts(locator: Any, number: int) -> None:
    from playwright.async_api import expect

    await expect(locator).to_have_count(number, timeout=15_000)


def test_everything_together_is_smaller_than_25_kb() -> None:
    packed = sum(len(gzip.compress(path.read_bytes())) for path in FOLDER.glob("*.js"))
    assert packed < 25 * 1024


async def test_the_files_may_be_kept_and_are_not_sent_twice(anonymous: Any) -> None:
    answer = await anonymous.client.get("/inbox.js")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["access-control-allow-origin"] == "*"
    again = await anonymous.client.get("/inbox.js", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = await anonymous.client.get("/inbox.js", headers={"accept-encoding": "identity"})
    assert plain.content == answer.content == (FOLDER / "inbox.js").read_bytes()


async def test_the_bell_counts_and_opens_the_list(scene: Any, visit: Any) -> None:
    await scene.post("First", body="One")
    await scene.post("Second", topic=None)
    page = await visit()
    await shows(badge(page), "2")
    bell = page.get_by_role("button", name="Notifications, 2 unread")
    await bell.click()
    await counts(page.get_by_role("listitem"), 2)
    assert await page.locator("waypost-inbox .open").all_text_contents() == ["Second", "First"]
    assert page.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["", "?rtl"])
async def test_axe_finds_nothing(scene: Any, visit: Any, scheme: str, query: str) -> None:
    await scene.post("First", body="One", cta_url="https://shop.example/1", actions=[{"label": "Pay", "url": "/pay"}])
    await scene.post("Second", sender="Shop")
    page = await visit(query, scheme=scheme)
    await shows(badge(page), "2")
    assert await violations(page) == []
    await page.locator("waypost-inbox .bell").click()
    await counts(page.get_by_role("listitem"), 2)
    await page.locator("waypost-inbox .item").first.hover()
    assert await violations(page) == []
    await page.get_by_role("listitem").first.locator(".tool").nth(1).click()
    await counts(page.get_by_role("menuitem"), 3)
    assert await violations(page) == []
    assert page.faults == []


async def test_two_browsers_follow_each_other(scene: Any, visit: Any) -> None:
    await scene.post("First")
    here, there = await visit(), await visit()
    await shows(badge(here), "1")
    await shows(badge(there), "1")
    await scene.post("Second")
    await shows(badge(here), "2")
    await shows(badge(there), "2")
    await here.locator("waypost-inbox .bell").click()
    await here.get_by_role("button", name="Mark read").first.click()
    await shows(badge(there), "1")
    await here.get_by_role("button", name="Mark all read").click()
    await counts(there.locator("waypost-inbox .badge[hidden]"), 1)
    assert here.faults == there.faults == []


async def test_a_new_message_is_announced_by_a_toast(scene: Any, visit: Any) -> None:
    page = await visit()
    await counts(page.locator("waypost-inbox .badge[hidden]"), 1)
    await page.wait_for_function("() => document.querySelector('waypost-inbox').client?.status === 'live'")
    await scene.post("Hello", body="<img src=x onerror=alert(1)>look")
    await shows(page.locator("waypost-inbox .toast .open"), "Hello")
    assert await page.locator("waypost-inbox .toast img").count() == 0
    assert await page.evaluate("window.heard") == ["Hello"]
    await page.locator("waypost-inbox .toast .open").click()
    await counts(page.get_by_role("listitem"), 1)
    await counts(page.locator("waypost-inbox .toast"), 0)


async def test_archive_snooze_and_unread(scene: Any, visit: Any) -> None:
    await scene.post("Older")
    await scene.post("Newer")
    page = await visit()
    await shows(badge(page), "2")
    await page.locator("waypost-inbox .bell").click()
    await counts(page.get_by_role("listitem"), 2)
    first = page.get_by_role("listitem").first
    await first.get_by_role("button", name="Mark read").click()
    await shows(badge(page), "1")
    await first.get_by_role("button", name="Mark unread").click()
    await shows(badge(page), "2")
    await first.get_by_role("button", name="Archive").click()
    await counts(page.get_by_role("listitem"), 1)
    await shows(badge(page), "1")
    await page.get_by_role("listitem").first.get_by_role("button", name="Snooze").click()
    await page.get_by_role("menuitem", name="Until tomorrow").click()
    await counts(page.get_by_role("listitem"), 0)
    await counts(page.get_by_text("Nothing here"), 1)
    await page.get_by_role("tab", name="Archive").click()
    await counts(page.get_by_role("listitem"), 1)
    await page.get_by_role("button", name="Bring back").click()
    await page.get_by_role("tab", name="All").click()
    await counts(page.get_by_role("listitem"), 1)
    assert page.faults == []


async def test_preferences_are_switches(scene: Any, visit: Any) -> None:
    news = {"title": "News", "category": "operational", "default": "opted_in"}
    await scene.api.ok("PUT", "/v1/topics/news", news)
    await scene.api.ok("PUT", "/v1/topics/safety", {**news, "title": "Safety", "mandatory": True})
    page = await visit()
    await page.locator("waypost-inbox .bell").click()
    await page.get_by_role("button", name="Preferences").click()
    switch = page.get_by_role("switch", name="News: Email")
    assert await switch.is_checked()
    assert await page.get_by_role("switch", name="Safety: Email").is_disabled()
    assert await violations(page) == []
    await switch.click()
    await page.get_by_text("Saved").wait_for(state="attached")
    kept = await scene.api.ok("GET", "/v1/recipients/user-42/preferences")
    assert kept["channels"]["email"]["topics"] == {"news": False}
    await page.get_by_role("button", name="Back").click()
    await counts(page.get_by_text("Nothing here"), 1)
    assert page.faults == []


async def test_everything_by_keyboard(scene: Any, visit: Any) -> None:
    await scene.post("First")
    page = await visit()
    await shows(badge(page), "1")
    focused = "document.querySelector('waypost-inbox').shadowRoot.activeElement?.className"
    await page.keyboard.press("Tab")
    assert await page.evaluate(focused) == "bell"
    await page.keyboard.press("Enter")
    await counts(page.get_by_role("listitem"), 1)
    assert await page.evaluate(focused) == "panel"
    for _ in range(3):
        await page.keyboard.press("Tab")
    assert await page.evaluate(focused) == "tab"
    await page.keyboard.press("ArrowRight")
    assert (
        await page.evaluate(
            f"{focused} && document.querySelector('waypost-inbox').shadowRoot.activeElement.textContent"
        )
        == "Unread1"
    )
    await counts(page.get_by_role("listitem"), 1)
    await page.keyboard.press("Escape")
    assert await page.evaluate(focused) == "bell"
    assert not await page.evaluate("document.querySelector('waypost-inbox').isOpen")


async def test_offline_and_back(scene: Any, visit: Any) -> None:
    await scene.post("First")
    page = await visit()
    await shows(badge(page), "1")
    await page.wait_for_function("() => document.querySelector('waypost-inbox').client?.status === 'live'")
    await page.locator("waypost-inbox .bell").click()
    await page.context.set_offline(True)
    await page.get_by_text("You are offline").wait_for()
    await scene.post("While away")
    await page.context.set_offline(False)
    await shows(badge(page), "2")
    await counts(page.get_by_role("listitem"), 2)
    await page.get_by_text("You are offline").wait_for(state="hidden")


async def test_a_token_that_has_run_out_is_replaced(scene: Any, visit: Any) -> None:
    good = scene.shop.token
    scene.shop.token = good[:-4] + "AAAA"
    await scene.post("First")
    page = await visit()
    await page.locator("waypost-inbox .bell").click()
    await page.get_by_role("alert").get_by_text("This did not load").wait_for()
    scene.shop.token = good
    await page.get_by_role("button", name="Try again").click()
    await counts(page.get_by_role("listitem"), 1)


async def test_links_lead_to_the_web_and_nowhere_else(scene: Any, visit: Any) -> None:
    page = await visit()
    led = await page.evaluate(
        f"""async () => {{ const {{ safe }} = await import("{scene.shop.api_url}/inbox-view.js");
        return ["https://a.example/x", "/pay", "javascript:alert(1)", "data:text/html,x", "vbscript:x", "http://b.example"]
          .map((one) => safe(one)); }}"""
    )
    assert led == ["https://a.example/x", f"{scene.shop.url}/pay", None, None, None, "http://b.example/"]
