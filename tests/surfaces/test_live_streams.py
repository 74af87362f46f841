"""Streams on their own listener: new messages at once, nothing lost in between, and nobody in the way of the API."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from waypost.api.app import create_app
from waypost.api.live.app import LiveApp, live_app
from waypost.api.live.metrics import LiveMetrics
from waypost.bootstrap.api import open_app
from waypost.settings.readers import Secret

PATH = "/v1/me/inboxes/main/stream"
Serving = Callable[..., AbstractAsyncContextManager[int]]


@dataclass
class Stream:
    """A client that reads server-sent events from a socket."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    status: int
    headers: dict[str, str]
    last_id: str | None = None

    async def event(self) -> tuple[str, Any]:
        """The next event that is not a heartbeat."""
        async with asyncio.timeout(20):
            while True:
                kind, data, mark = "", "", None
                for line in (await self._block()).splitlines():
                    name, _, value = line.partition(": ")
                    kind = value if name == "event" else kind
                    data = value if name == "data" else data
                    mark = value if name == "id" else mark
                self.last_id = mark or self.last_id
                if kind:
                    return kind, json.loads(data)

    async def until(self, wanted: str) -> Any:
        while True:
            kind, data = await self.event()
            if kind == wanted:
                return data

    async def ended(self) -> bool:
        async with asyncio.timeout(20):
            while await self.reader.read(65_536):
                pass
        return True

    async def _block(self) -> str:
        lines: list[str] = []
        while True:
            # Chunks come with their sizes between them; an event's lines never look like one.
            line = (await self.reader.readuntil(b"\n")).decode().rstrip("\r\n")
            if line.startswith(("event: ", "data: ", "id: ", "retry: ", ": ")):
                lines.append(line)
            elif not line and lines:
                return "\n".join(lines)


@asynccontextmanager
async def follow(port: int, token: str, **headers: str) -> AsyncIterator[Stream]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000_000)
    given = {"Host": "x", "Authorization": f"Bearer {token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    writer.write(f"GET {PATH} HTTP/1.1\r\n{lines}\r\n".encode())
    try:
        async with asyncio.timeout(20):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.split("\r\n")
        yield Stream(reader, writer, int(first.split()[1]), dict(h.lower().split(": ", 1) for h in rest if ": " in h))
    finally:
        writer.close()


@pytest.fixture
async def live(app: Any) -> AsyncIterator[LiveApp]:
    made = live_app(app, LiveMetrics(CollectorRegistry()))
    yield made
    await made.close()


@pytest.fixture
async def port(live: LiveApp, serving: Serving) -> AsyncIterator[int]:
    async with serving(live, websockets=True) as port:
        yield port


@pytest.fixture
async def token(acme: Any) -> str:
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Main"})
    await acme.ok("PUT", "/v1/recipients/jane", {})
    return (await acme.ok("POST", "/v1/recipients/jane/token", {}))["token"]


async def post(acme: Any, title: str, *recipients: str) -> str:
    audience = {"kind": "users", "recipients": list(recipients)} if recipients else {"kind": "everyone"}
    return (await acme.ok("POST", "/v1/inboxes/main/posts", {"audience": audience, "title": title}))["id"]


async def act(acme: Any, anonymous: Any, token: str, word: str, body: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    return await anonymous.ok("POST", f"/v1/me/inboxes/main/{word}", body, headers=headers)


async def test_news_comes_at_once_and_what_one_device_reads_the_other_knows(
    acme: Any, anonymous: Any, token: str, port: int
) -> None:
    async with follow(port, token) as phone, follow(port, token) as desk:
        assert phone.status == 200
        assert phone.headers["content-type"] == "text/event-stream"
        for device in (phone, desk):
            assert (await device.event())[0] == "hello"
            assert await device.event() == ("counts", {"unread": 0, "total": 0, "topics": {}})
        public = await post(acme, "For all")
        for device in (phone, desk):
            assert (await device.until("message"))["title"] == "For all"
            assert (await device.until("counts"))["unread"] == 1
        await post(acme, "For Jane", "jane")
        for device in (phone, desk):
            assert (await device.until("message"))["title"] == "For Jane"
            assert (await device.until("counts"))["unread"] == 2
        read = await act(acme, anonymous, token, "read", {"ids": [public]})
        changed = await desk.until("change")
        assert (changed["id"], changed["read_at"]) == (public, read["items"][0]["read_at"])
        assert (await desk.until("counts"))["unread"] == 1
        await act(acme, anonymous, token, "read", {"before": "2099-01-01T00:00:00Z"})
        assert (await phone.until("read_all"))["read_at"]
        await acme.ok("DELETE", f"/v1/inboxes/main/posts/{public}")
        assert await phone.until("removed") == {"id": public}
        assert (await phone.until("counts"))["total"] == 1


async def test_a_stream_resumes_after_its_last_event_without_loss(acme: Any, token: str, port: int) -> None:
    async with follow(port, token) as first:
        await first.until("counts")
        await post(acme, "One")
        await first.until("message")
        mark = first.last_id
    titles = ["Two", "Three", "Four", "Five"]
    for place, title in enumerate(titles):
        await post(acme, title, *(["jane"] if place % 2 else []))
    async with follow(port, token, Last_Event_ID=mark or "") as second:
        assert (await second.event())[1] == {"resumed": True}
        found = {(await second.until("message"))["title"] for _ in titles}
        assert found == set(titles)
        assert (await second.until("counts"))["unread"] == 5
        await post(acme, "Six")
        assert (await second.until("message"))["title"] == "Six"
    async with follow(port, token, Last_Event_ID="99999-99999") as lost:
        await lost.until("reset")
        await post(acme, "Seven")
        assert (await lost.until("message"))["title"] == "Seven"


async def test_who_may_not_follow(acme: Any, token: str, port: int, app: Any) -> None:
    for bearer, headers, status, code in (
        ("wpr_x", {}, 401, "invalid_token"),
        (token[:-1], {}, 401, "invalid_token"),
        (token, {"Origin": "https://evil.example"}, 403, "origin_not_allowed"),
        (token, {"Last_Event_ID": "x"}, 422, "invalid_cursor"),
    ):
        async with follow(port, bearer, **headers) as refused:
            assert refused.status == status
            assert json.loads(await refused.reader.read())["code"] == code


async def test_a_stream_ends_with_its_token(acme: Any, token: str, port: int) -> None:
    async with follow(port, token) as stream:
        await stream.until("counts")
        await acme.ok("DELETE", "/v1/recipients/jane/token")
        assert await stream.ended()


async def test_a_stream_ends_with_its_person(acme: Any, token: str, port: int) -> None:
    async with follow(port, token) as stream:
        await stream.until("counts")
        await acme("DELETE", "/v1/recipients/jane")
        assert await stream.ended()


async def test_another_process_is_told_too(app: Any, acme: Any, token: str, serving: Serving) -> None:
    """Two hubs over one database know of each other only by NOTIFY."""
    both = [live_app(app, LiveMetrics(CollectorRegistry())) for _ in range(2)]
    try:
        async with (
            serving(both[0], websockets=True) as one,
            serving(both[1], websockets=True) as two,
            follow(one, token) as here,
            follow(two, token) as there,
        ):
            for stream in (here, there):
                await stream.until("counts")
            await post(acme, "Both", "jane")
            for stream in (here, there):
                assert (await stream.until("message"))["title"] == "Both"
    finally:
        for one_app in both:
            await one_app.close()


async def test_by_redis_those_processes_hear_where_somebody_is_connected(
    app: Any, acme: Any, token: str, serving: Serving, redis_server: str
) -> None:
    """Two whole processes over one database and one Redis: the one tells, both follow."""
    settings = replace(app.settings, fanout=Secret(redis_server))
    redis = Redis.from_url(redis_server)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(redis.aclose)
        apps = [await stack.enter_async_context(open_app(settings)) for _ in range(2)]
        lives = [live_app(one, LiveMetrics(CollectorRegistry())) for one in apps]
        for live in lives:
            stack.push_async_callback(live.close)
        ports = [await stack.enter_async_context(serving(live, websockets=True)) for live in lives]
        transport = httpx.ASGITransport(create_app(apps[0]))
        client = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://waypost"))
        teller = replace(acme, client=client, app=apps[0])
        async with follow(ports[0], token) as here, follow(ports[1], token) as there:
            for stream in (here, there):
                await stream.until("counts")
            (route,) = await _until(lambda: redis.keys("notif:ws:acme:*"), bool)
            await _until(lambda: redis.scard(route), lambda processes: processes == 2)
            await post(teller, "Jane's", "jane")
            await post(teller, "Everyone's")
            for stream in (here, there):
                assert {(await stream.until("message"))["title"] for _ in range(2)} == {"Jane's", "Everyone's"}
        await _until(lambda: redis.exists(route), lambda there: not there)


async def test_no_more_streams_than_there_is_room_for(app: Any, acme: Any, token: str, serving: Serving) -> None:
    small = replace(app, settings=replace(app.settings, streams_per_address=2, streams=3))
    live = live_app(small, LiveMetrics(CollectorRegistry()))
    try:
        async with serving(live, websockets=True) as port, follow(port, token), follow(port, token):
            async with follow(port, token) as third:
                assert third.status == 429
                assert third.headers["retry-after"]
            async with follow(port, token, X_Forwarded_For="203.0.113.9") as elsewhere:
                assert elsewhere.status == 200
                async with follow(port, token, X_Forwarded_For="203.0.113.10") as full:
                    assert full.status == 503
    finally:
        await live.close()


class Socket:
    """The smallest WebSocket client: short text frames both ways."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, text: str) -> None:
        raw, mask = text.encode(), os.urandom(4)
        size = bytes((0x80 | len(raw),)) if len(raw) < 126 else bytes((0x80 | 126,)) + len(raw).to_bytes(2, "big")
        self.writer.write(b"\x81" + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(raw)))

    async def receive(self) -> Any:
        """A message as JSON, or the reason for which the server closed."""
        async with asyncio.timeout(20):
            head = await self.reader.readexactly(2)
            size = head[1] & 127
            if size == 126:
                size = int.from_bytes(await self.reader.readexactly(2), "big")
            raw = await self.reader.readexactly(size)
        return json.loads(raw) if head[0] & 15 == 1 else raw[2:].decode()


@asynccontextmanager
async def dial(port: int, path: str = PATH) -> AsyncIterator[Socket]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    async with asyncio.timeout(20):
        head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101"), head
    yield Socket(reader, writer)
    writer.close()


async def test_a_websocket_says_who_it_is_in_its_first_message(acme: Any, token: str, port: int) -> None:
    async with dial(port) as socket:
        socket.send(json.dumps({"token": token}))
        assert (await socket.receive())["event"] == "hello"
        assert (await socket.receive())["event"] == "counts"
        await post(acme, "Over the socket", "jane")
        while (message := await socket.receive())["event"] == "counts":
            pass  # they may be told once more before it
        assert (message["event"], message["data"]["title"]) == ("message", "Over the socket")
        mark = message["id"]
    await post(acme, "Meanwhile")
    async with dial(port) as socket:
        socket.send(json.dumps({"token": token, "last_event_id": mark}))
        assert (await socket.receive())["data"] == {"resumed": True}
        assert (await socket.receive())["data"]["title"] == "Meanwhile"
    for hello in ("nonsense", json.dumps({"token": "wpr_x"}), "{}"):
        async with dial(port) as socket:
            socket.send(hello)
            assert await socket.receive() == "invalid_token"


async def test_heartbeats_come_while_nothing_happens(acme: Any, token: str, live: LiveApp, port: int) -> None:
    async with follow(port, token) as stream:
        await stream.until("counts")
        for room in live._hub._rooms.values():
            for one in room.everyone():
                one.must_beat = True
                one.wake.set()
        async with asyncio.timeout(20):
            await stream.reader.readuntil(b": still here")


async def _until(ask: Callable[[], Awaitable[Any]], fits: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(30):
        while not fits(answer := await ask()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return answer
