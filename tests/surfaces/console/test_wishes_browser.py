"""Explain, preferences and consent in the console, and the pages for recipients, in Chromium with axe."""

from typing import Any
from uuid import UUID

import pytest

from waypost.kernel.tokens import Purpose, Token
from waypost.kernel.vocabulary import Channel
from waypost.preferences.link_subject import LinkSubject

NEWS = {"title": "Newsletter", "category": "marketing", "default": "opted_in", "description": "Once a week."}


@pytest.fixture
async def furnished(site: Any) -> None:
    api = site.api
    await api.ok("PUT", "/v1/topics/news", NEWS)
    await api.ok("PUT", "/v1/topics/billing", {**NEWS, "title": "Bills", "category": "operational", "mandatory": True})
    await api.ok("PUT", "/v1/topics/offers", {**NEWS, "title": "Offers", "default": "opted_out"})
    await api.ok("PUT", "/v1/recipients/ada", {"email": "ada@example.com", "timezone": "Europe/Vienna"})
    quiet = {"quiet_hours": {"start": "22:00", "end": "07:00"}, "channels": {"email": {"topics": {"offers": False}}}}
    await api.ok("PUT", "/v1/recipients/ada/preferences", quiet)
    said = {"topic": "news", "state": "granted", "source": "signup", "text_version": "7"}
    await api.ok("POST", "/v1/recipients/ada/consents", said)


async def link(site: Any, admin: Any, purpose: Purpose) -> str:
    row = await admin.fetchrow("select recipient_id, id from waypost.addresses where tenant_id = 'acme'")
    person: UUID = row["recipient_id"]
    subject = LinkSubject(recipient_id=person, channel=Channel.EMAIL, topic="news", address_id=row["id"])
    token = Token(purpose=purpose, tenant_id="acme", subject=subject.pack())
    return await site.api.app.wishes.tokens.issue(token)


@pytest.mark.usefixtures("furnished")
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_explain_answers_in_plain_words(site: Any, sign_in: Any, violations: Any, theme: str) -> None:
    page = await sign_in(scheme=theme)
    await page.goto(f"{site.url}/explain")
    assert await violations(page) == []
    await page.get_by_role("textbox", name="Recipient").fill("ada")
    await page.get_by_label("Topic").fill("news")
    await page.get_by_label("At (UTC)").fill("2026-01-15T23:00")
    await page.get_by_role("button", name="Explain").click()
    heading = page.get_by_role("status")
    assert await heading.inner_text() == (
        "It would wait until 16 January 2026, 06:00 UTC: it is night where the recipient lives, or another quiet time."
    )
    assert "this decides" in await page.get_by_role("row", name="quiet hours").inner_text()
    assert await violations(page) == []
    await page.get_by_role("textbox", name="Recipient").fill("nobody")
    await page.get_by_role("button", name="Explain").click()
    assert "no recipient" in await page.get_by_role("alert").inner_text()
    assert await violations(page) == []


@pytest.mark.usefixtures("furnished")
async def test_a_persons_page_shows_wishes_and_whether_history_was_altered(
    site: Any, sign_in: Any, violations: Any, admin: Any
) -> None:
    page = await sign_in()
    await page.goto(f"{site.url}/recipients/ada")
    text = await page.locator("main").inner_text()
    assert "22:00–07:00" in text
    assert "offers on email" in text
    assert "Every word is as it was written." in text
    assert await violations(page) == []
    await admin.execute("update waypost.consents set source = 'forged'")
    await page.reload()
    assert "altered" in await page.get_by_role("alert").inner_text()


@pytest.mark.usefixtures("furnished")
@pytest.mark.parametrize(("theme", "locale", "language"), [("light", "en", "en"), ("dark", "ar", "ar")])
async def test_recipients_pages_are_clear_to_everyone(
    site: Any, browser: Any, admin: Any, violations: Any, theme: str, locale: str, language: str
) -> None:
    await site.api.ok("PATCH", "/v1/recipients/ada", {"locale": locale})
    context = await browser.new_context(color_scheme=theme, viewport={"width": 390, "height": 800})
    page = await context.new_page()
    troubles: list[str] = []
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    await page.goto(f"{site.url}/p/{await link(site, admin, Purpose.PREFERENCES)}")
    assert await page.locator("html").get_attribute("lang") == language
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.locator("form:has(input[value=news]) button").press("Enter")
    assert await page.get_by_role("status").is_visible()
    assert await violations(page) == []
    await page.locator("form[action^='/p/'] button").click()
    assert await page.get_by_role("status").is_visible()
    assert await violations(page) == []
    await page.goto(f"{site.url}/u/{await link(site, admin, Purpose.UNSUBSCRIBE)}")
    assert await violations(page) == []
    await page.goto(f"{site.url}/u/nonsense")
    assert await violations(page) == []
    assert [text for text in troubles if "404" not in text] == []
    assert await context.cookies() == []
    await context.close()
