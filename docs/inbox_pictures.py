"""The inbox element on a shop's page: the plain example at work, with messages in it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
from playwright.async_api import Browser

from waypost.bootstrap.ports import claim_port

_EXAMPLE: Final = Path(__file__).parent.parent / "examples" / "inbox" / "serve.py"
_AUDIENCE: Final = {"kind": "users", "recipients": ["user-42"]}
_POSTS: Final[tuple[dict[str, object], ...]] = (
    {"title": "Your invoice is ready", "topic": "billing", "cta_url": "https://example.com/i/7"},
    {"title": "New: first flush Darjeeling", "body": "Picked in March, here since today.", "sender": "Northwind Tea"},
    {
        "title": "Your order NT-4126 is packed",
        "body": "It leaves the warehouse this afternoon.",
        "topic": "orders",
        "actions": [{"label": "Follow the parcel", "url": "https://example.com/p"}, {"label": "Invoice", "url": "/i"}],
    },
)


async def take_inbox(browser: Browser, url: str, key: str, images: Path) -> None:
    with _shop(url, key) as shop:
        _furnish(url, key)
        for scheme in ("light", "dark"):
            context = await browser.new_context(viewport={"width": 760, "height": 640}, color_scheme=scheme)
            page = await context.new_page()
            await page.goto(shop)
            await page.locator("waypost-inbox .badge:not([hidden])").wait_for()
            await page.locator("waypost-inbox .bell").click()
            await page.get_by_role("listitem").nth(len(_POSTS)).wait_for()
            await page.screenshot(path=images / f"inbox-{scheme}.png")
            await context.close()


@contextmanager
def _shop(url: str, key: str) -> Iterator[str]:
    port = claim_port("127.0.0.1", 0, "")
    process = subprocess.Popen(  # noqa: S603 - our own example
        [sys.executable, str(_EXAMPLE), str(port)],
        env={**os.environ, "WAYPOST_URL": url, "WAYPOST_API_KEY": key},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if process.stdout is None or "Open" not in process.stdout.readline():
            raise SystemExit("The example did not start.")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


def _furnish(url: str, key: str) -> None:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False) as http:
        for topic in ("orders", "billing"):
            wish = {"title": topic.title(), "category": "operational", "default": "opted_in"}
            http.put(f"/v1/topics/{topic}", json=wish).raise_for_status()
        for post in _POSTS:
            http.post("/v1/inboxes/main/posts", json={"audience": _AUDIENCE, **post}).raise_for_status()
