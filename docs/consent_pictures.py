"""The preference centre as a recipient sees it, and explain in the console."""

import asyncio
import re
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, Page

from waypost.client import Client, Message

_TOPICS: Final = {
    "orders": {"title": "Orders", "category": "operational", "default": "opted_in", "mandatory": True, "order": 1},
    "tastings": {
        "title": "Tastings",
        "category": "marketing",
        "default": "opted_in",
        "description": "When we open a new tea, a few times a year.",
        "order": 2,
    },
    "offers": {"title": "Offers", "category": "marketing", "default": "opted_out", "order": 3},
}
_LINK: Final = re.compile(rb"https?://[^\s<>\"]+/p/[\w-]+")


async def take_consent(browser: Browser, page: Page, url: str, key: str, images: Path) -> None:
    """`page` is signed in."""
    link = await _furnish(url, key)
    context = await browser.new_context(viewport={"width": 760, "height": 640}, color_scheme="light")
    centre = await context.new_page()
    await centre.goto(link)
    await centre.screenshot(path=images / "preference-centre.png")
    await context.close()
    asked = "recipient=ada-lovelace&topic=tastings&at=2026-01-15T23:00"
    await page.goto(f"{url}/explain?{asked}")
    await page.screenshot(path=images / "console-explain.png", full_page=True)


async def _furnish(url: str, key: str) -> str:
    """Topics, Ada's wishes, and the link in a message to her."""
    async with Client(url, key) as client:
        for name, topic in _TOPICS.items():
            await client.topics.put(name, topic)
        await client.recipients.put("ada-lovelace", {"email": "ada@example.com", "timezone": "Europe/London"})
        await client.preferences.put("ada-lovelace", {"quiet_hours": {"start": "22:00", "end": "07:00"}})
        granted = {"topic": "tastings", "state": "granted", "source": "signup", "text_version": "2026-01"}
        await client.preferences.consent("ada-lovelace", granted)
        content = {"subject": "Your choices", "text": "{{ preferences_url }}"}
        await client.notifications.send(Message(to="ada-lovelace", content=content))
        for _ in range(600):
            async for mail in client.mailbox.list(page_size=20):
                if mail.subject == "Your choices":
                    raw = (await client.mailbox.raw(mail.id)).replace(b"=\r\n", b"").replace(b"=3D", b"=")
                    if found := _LINK.search(raw):
                        return found[0].decode()
            await asyncio.sleep(0.05)
    raise SystemExit("The message with the link did not arrive.")
