"""A hostile message is looked at in Chromium, clicked and submitted: not one request leaves the page."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from waypost.console.preview import POLICY, inert_html

HOSTILE = (Path(__file__).parent / "hostile.html").read_text()
CLICKS = ("the link", "the way out", "the new page", "the moving link", "the button", "the other button")


@pytest.fixture
async def canary() -> AsyncIterator[tuple[str, list[bytes]]]:
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A connection counts, even one over which nothing is asked.
        heard.append(b"connected")
        asked = await reader.read(200)
        heard.append(asked)
        body = HOSTILE.replace("CANARY", f"http://{asked.split()[4].decode()}") if b" /open " in asked else ""
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
        writer.write((head + body).encode())
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    yield f"http://{host}:{port}", heard
    server.close()


async def click_everything(page: Any, inside: Any) -> None:
    for text in CLICKS:
        await inside.get_by_text(text, exact=True).click(force=True, no_wait_after=True, timeout=5_000)
    await page.wait_for_timeout(400)


async def test_preview_inert(sign_in: Any, site: Any, canary: tuple[str, list[bytes]]) -> None:
    url, heard = canary
    body = {
        "to": {"id": "m", "email": "m@example.com"},
        "content": {"subject": "s", "html": HOSTILE.replace("CANARY", url)},
    }
    sent = (await site.api.ok("POST", "/v1/notifications", body))["notifications"][0]["id"]
    page = await sign_in()
    asked: list[str] = []
    page.context.on("response", lambda answer: asked.append(answer.url))
    await page.goto(f"{site.url}/messages/{sent}")
    await click_everything(page, page.frame_locator("iframe.preview"))
    assert page.url == f"{site.url}/messages/{sent}"
    await page.goto(f"{site.url}/messages/{sent}/preview")
    await click_everything(page, page)
    assert page.url == f"{site.url}/messages/{sent}/preview"
    assert len(page.context.pages) == 1
    assert [one for one in asked if one.startswith(url)] == []
    assert heard == []


async def test_the_canary_sings(browser: Any, canary: tuple[str, list[bytes]]) -> None:
    """The same message without our policy: so the silence above means something."""
    url, heard = canary
    page = await browser.new_page()
    await page.goto(f"{url}/open", wait_until="commit")
    await page.wait_for_timeout(500)
    assert any(b"/pixel" in one for one in heard)


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ('<a href="x">', '<a data-inert-href="x">'),
        ("<a/HREF\n=x>", "<a/data-inert-HREF\n=x>"),
        ('<svg><a xlink:href="x">', '<svg><a xlink:data-inert-href="x">'),
        ('<iframe SRC="https://x">', '<iframe data-inert-SRC="https://x">'),
        ("<img src = 'data:image/png;base64,x'>", "<img src = 'data:image/png;base64,x'>"),
        ("<object data=x>", "<object data-inert-data=x>"),
        ("<p data-x=1>", "<p data-x=1>"),
        ("<form action=x>", "<form data-inert-action=x>"),
        ("<p>action and href in words</p>", "<p>action and href in words</p>"),
    ],
)
def test_targets_are_renamed_and_words_are_not(html: str, shown: str) -> None:
    assert inert_html(html).decode().endswith(shown)


def test_the_policy_is_the_one_that_was_promised() -> None:
    assert POLICY == "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
