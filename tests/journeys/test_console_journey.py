"""One person, one browser, one real `waypost up`: sign in, watch a message arrive, look at it, read its story."""

from pathlib import Path
from typing import Any

from waypost.client import Message

AXE = Path(__file__).parents[1] / "surfaces" / "console" / "axe" / "axe.min.js"


async def test_a_message_is_watched_from_its_acceptance_to_the_mailbox(browser: Any, up: Any, client: Any) -> None:
    page = await browser.new_page()
    await page.goto(f"{up.url}/")
    await page.wait_for_url("**/sign-in")
    await page.get_by_label("API key").fill(up.api_key)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("heading", name="Overview").wait_for()
    await page.get_by_role("link", name="Messages", exact=True).click()
    await page.get_by_role("button", name="Pause").wait_for()
    await client.notifications.send(
        Message(
            to={"id": "console-reader", "email": "reader@example.com", "attributes": {"first_name": "Reader"}},
            content={"subject": "For {{ first_name }}’s eyes", "html": "<h1>Seen by {{ first_name }}</h1>"},
        )
    )
    row = page.locator("tr", has_text="console-reader")
    await row.locator(".badge", has_text="dispatched").first.wait_for(timeout=20_000)
    await row.get_by_role("link").first.click()
    await page.get_by_role("heading", name="For Reader’s eyes").wait_for()
    await page.frame_locator("iframe.preview").get_by_role("heading", name="Seen by Reader").wait_for()
    steps = await page.locator(".timeline strong").all_inner_texts()
    assert steps == ["Accepted", "Attempt 1 began", "The mail server took it"]
    await page.get_by_role("link", name="console-reader").click()
    await page.get_by_text("r***@example.com").wait_for()
    await page.get_by_role("link", name="Mailbox").click()
    await page.get_by_role("link", name="For Reader’s eyes").first.click()
    await page.frame_locator("iframe.preview").get_by_role("heading", name="Seen by Reader").wait_for()
    await page.evaluate(AXE.read_text())
    assert (await page.evaluate("axe.run(document, { iframes: false })"))["violations"] == []


async def test_a_platform_key_looks_at_the_demo_tenant(browser: Any, up: Any) -> None:
    page = await browser.new_page()
    await page.goto(f"{up.url}/sign-in")
    await page.get_by_label("API key").fill(up.platform_key)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Act for demo").click()
    await page.get_by_role("heading", name="Overview").wait_for()
    await page.get_by_role("button", name="Change tenant").click()
    await page.wait_for_url("**/tenants")
