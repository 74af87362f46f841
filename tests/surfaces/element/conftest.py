"""A customer's page on a site of its own, under a strict Content-Security-Policy, with the inbox element on it."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from waypost.api.app import create_app
from waypost.api.live.app import live_app
from waypost.api.live.metrics import LiveMetrics
from waypost.api.server import server_of
from waypost.bootstrap.ports import claim_port

_PAGE = """<!doctype html><html lang="{lang}"{dir}><head><meta charset="utf-8"><title>Shop</title>
<script type="module" src="{api}/inbox.js"></script><script type="module" src="/page.js"></script></head>
<body><header><h1>Shop</h1><waypost-inbox url="{api}"></waypost-inbox></header><main><p>Buy things.</p></main>
</body></html>"""
_SCRIPT = """const inbox = document.querySelector("waypost-inbox");
window.heard = [];
inbox.addEventListener("waypost-message", (event) => window.heard.push(event.detail.title));
inbox.getToken = async () => (await fetch("/token")).json();
"""


@dataclass
class Shop:
    """The customer's own web server."""

    url: str
    api_url: str = ""
    token: str = ""
    tokens_asked: int = 0


@pytest.fixture
def shop() -> Iterator[Shop]:
    class Counter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path == "/token":
                known.tokens_asked += 1
                self._answer("application/json", json.dumps({"token": known.token}))
            elif path == "/page.js":
                self._answer("text/javascript", _SCRIPT)
            elif path == "/":
                lang, right = ("ar", ' dir="rtl"') if "rtl" in query else ("en", "")
                self._answer("text/html", _PAGE.format(api=known.api_url, lang=lang, dir=right))
            else:
                self.send_error(404)

        def _answer(self, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header(
                "Content-Security-Policy",
                f"default-src 'none'; script-src 'self' {known.api_url}; connect-src 'self' http://127.0.0.1:*;"
                " base-uri 'none'; require-trusted-types-for 'script'",
            )
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counter)
    known = Shop(url=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass(frozen=True, kw_only=True)
class Scene:
    api: Any
    shop: Shop

    async def post(self, title: str, **fields: Any) -> str:
        audience = fields.pop("audience", {"kind": "users", "recipients": ["user-42"]})
        made = await self.api.ok("POST", "/v1/inboxes/main/posts", {"audience": audience, "title": title, **fields})
        return made["id"]


async def answers(port: int) -> None:
    for _ in range(500):
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.02)


@pytest.fixture
async def scene(app: Any, acme: Any, shop: Shop) -> AsyncIterator[Scene]:
    port, live_port = (claim_port("127.0.0.1", 0, "--port") for _ in range(2))
    settings = dataclasses.replace(app.settings, live_public_url=f"http://127.0.0.1:{live_port}")
    app = dataclasses.replace(app, settings=settings)
    live = live_app(app, LiveMetrics(CollectorRegistry()))
    servers = [
        server_of(create_app(app), "127.0.0.1", port),
        server_of(live, "127.0.0.1", live_port, websockets=True),
    ]
    serving = [asyncio.create_task(server.serve()) for server in servers]
    await asyncio.gather(*(answers(one) for one in (port, live_port)))
    shop.api_url = f"http://127.0.0.1:{port}"
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Notifications"})
    await acme.ok("PATCH", "/v1/inbox-settings", {"allowed_origins": [shop.url]})
    await acme.ok("PUT", "/v1/recipients/user-42", {"email": "jane@example.com"})
    shop.token = (await acme.ok("POST", "/v1/recipients/user-42/token", {}))["token"]
    yield Scene(api=acme, shop=shop)
    await live.close()
    for server in servers:
        server.stop()
    await asyncio.gather(*serving)


@pytest.fixture
async def visit(browser: Any, scene: Scene) -> Callable[..., Awaitable[Any]]:
    async def enter(query: str = "", *, width: int = 1024, scheme: str = "light") -> Any:
        context = await browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = await context.new_page()
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda line: page.faults.append(line.text) if "Content Security" in line.text else None)
        await page.goto(f"{scene.shop.url}/{query}")
        return page

    return enter
