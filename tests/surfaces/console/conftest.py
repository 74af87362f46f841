"""The API and the console on a real port or over HTTP alone, and someone who signs in with a browser."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from waypost.api.app import create_app
from waypost.api.server import server_of
from waypost.bootstrap.ports import claim_port

HOST = "http://waypost"


@dataclass(frozen=True, kw_only=True)
class Site:
    url: str
    api: Any


@pytest.fixture
async def site(app: Any, acme: Any) -> AsyncIterator[Site]:
    port = claim_port("127.0.0.1", 0, "--port")
    server = server_of(create_app(app), "127.0.0.1", port)
    serving = asyncio.create_task(server.serve())
    for _ in range(200):
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        await asyncio.sleep(0.02)
    yield Site(url=f"http://127.0.0.1:{port}", api=acme)
    server.stop()
    await serving


@pytest.fixture
async def sign_in(browser: Any, site: Site) -> Callable[..., Awaitable[Any]]:
    async def enter(key: str | None = None, *, width: int = 1280, scheme: str = "light") -> Any:
        context = await browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = await context.new_page()
        await page.goto(f"{site.url}/sign-in")
        await page.get_by_label("API key").fill(key or site.api.key)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(lambda url: "sign-in" not in url)
        return page

    return enter


@pytest.fixture
def violations() -> Callable[[Any], Awaitable[list[str]]]:
    """`await violations(page)`: what axe finds on a page."""
    axe = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

    async def look(page: Any) -> list[str]:
        await page.evaluate(axe)
        result = await page.evaluate(
            "(tags) => axe.run(document, { iframes: false, runOnly: { type: 'tag', values: tags } })", tags
        )
        return [f"{one['id']} {[node['html'][:160] for node in one['nodes']]}" for one in result["violations"]]

    return look


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


@pytest.fixture
def send() -> Callable[..., Awaitable[str]]:
    """`await send(api, **fields)`: a message to Jane; answers its id."""
    hello = {
        "to": {"id": "jane-7", "email": "jane@example.com", "attributes": {"first_name": "Jane"}},
        "content": {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"},
    }

    async def one(api: Any, **fields: Any) -> str:
        return (await api.ok("POST", "/v1/notifications", hello | fields))["notifications"][0]["id"]

    return one
