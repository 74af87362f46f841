"""The door on a real server: slow, large and many requests are cut, and everyone else is served meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as AsgiScope
from prometheus_client import CollectorRegistry

from waypost.api.client_address import Origin
from waypost.api.limits import Limited, Limits
from waypost.api.metrics import HttpMetrics, metrics_app
from waypost.api.request_log import RequestLog
from waypost.kernel.clock import SystemClock

TIGHT = Limits(body_bytes=100_000, body_seconds=1.0, handler_seconds=1.0, per_address=20, per_key=5)


async def echo(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """A plain ASGI application without any bound of its own."""
    assert scope["type"] == "http"
    if scope["path"] == "/stuck":
        await asyncio.Event().wait()
    size = 0
    while True:
        message = await receive()
        assert message["type"] == "http.request"
        size += len(message["body"])
        if not message["more_body"]:
            break
    body = str(size).encode()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]}
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})


def guarded(limits: Limits, app: ASGIApp = echo, *, trusted: tuple[str, ...] = ()) -> ASGIApp:
    metrics = HttpMetrics(CollectorRegistry())
    return RequestLog(
        Limited(app, limits=limits, origin=Origin(trusted), metrics=metrics), clock=SystemClock(), metrics=metrics
    )


async def until_closed(port: int, sent: bytes, *, within: float = 60.0) -> int:
    """The status of the answer to raw bytes; the server closes the connection by itself."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        async with asyncio.timeout(within):
            head = await reader.read()
    except ConnectionResetError:
        head = b""
    finally:
        writer.close()
    return int(head.split()[1]) if head else 0


async def answering(client: httpx.AsyncClient, status: int, **headers: str) -> httpx.Response:
    """What GET answers once it answers with this status: a server notices things when it comes to them."""
    async with asyncio.timeout(60):
        while (answer := await client.get("/", headers=headers)).status_code != status:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return answer


def slow_upload(path: str = "/", extra: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{extra}Content-Length: 1000\r\n\r\nabc".encode()


async def test_three_hundred_slow_uploads_do_not_keep_anybody_out(serving: Any) -> None:
    # Two front doors stand for two addresses: the proxy names them.
    limits = replace(TIGHT, body_seconds=5.0)
    async with serving(guarded(limits, trusted=("127.0.0.1",))) as port:
        flood = [
            asyncio.create_task(until_closed(port, slow_upload(extra="X-Forwarded-For: 192.0.2.1\r\n")))
            for _ in range(300)
        ]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            await answering(client, 429, **{"X-Forwarded-For": "192.0.2.1"})
            health = await client.get("/healthz")
            send = await client.post("/", content=b"x" * 50, headers={"X-Forwarded-For": "192.0.2.2"})
        assert not all(upload.done() for upload in flood), "they were served while the flood stood"
        statuses = await asyncio.gather(*flood)
        assert (health.status_code, send.status_code) == (200, 200)
        assert statuses.count(408) == TIGHT.per_address
        assert statuses.count(429) == 300 - TIGHT.per_address


async def test_a_body_that_trickles_is_cut_at_the_deadline(serving: Any) -> None:
    async with serving(guarded(TIGHT)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(slow_upload())
        began = time.monotonic()

        async def trickle() -> None:
            while True:
                writer.write(b"x")
                await asyncio.sleep(0.05)

        trickling = asyncio.create_task(trickle())
        answer = await asyncio.wait_for(reader.readline(), 60)
        trickling.cancel()
        writer.close()
        assert b"408" in answer
        assert time.monotonic() - began > 0.9


async def test_bodies_end_where_their_length_says_one_after_the_other(serving: Any) -> None:
    """On one connection: whole, in pieces, without any, in chunks, and with the next request right behind."""
    head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n"
    async with serving(guarded(replace(TIGHT, body_seconds=60))) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def answer() -> bytes:
            async with asyncio.timeout(60):
                found = await reader.readuntil(b"\r\n\r\n")
                assert found.startswith(b"HTTP/1.1 200")
                length = int(found.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                return await reader.readexactly(length)

        writer.write(head.format(5_000).encode() + b"x" * 5_000)
        assert await answer() == b"5000"
        writer.write(head.format(9_000).encode() + b"x" * 10)
        await writer.drain()
        writer.write(b"x" * 8_990)
        assert await answer() == b"9000"
        writer.write(head.format(0).encode())
        assert await answer() == b"0"
        writer.write(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        assert await answer() == b"5"
        writer.write(head.format(7).encode() + b"x" * 7 + head.format(8).encode() + b"x" * 8)
        assert [await answer(), await answer()] == [b"7", b"8"]
        writer.close()


async def test_a_client_that_leaves_in_the_middle_frees_its_place(serving: Any) -> None:
    async with serving(guarded(replace(TIGHT, per_address=1, body_seconds=30))) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(slow_upload())
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            await answering(client, 429)
            writer.close()
            await answering(client, 200)
            assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize("path", ["/", "/healthz"])
async def test_large_bodies_are_refused_declared_or_not(serving: Any, path: str) -> None:
    async def sixty_megabytes() -> AsyncIterator[bytes]:
        for _ in range(600):
            yield b"x" * 100_000

    async with serving(guarded(TIGHT)) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        declared = await until_closed(
            port, f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n".encode()
        )
        assert declared == 413
        try:
            chunked = (await client.post(path, content=sixty_megabytes())).status_code
        except (httpx.WriteError, httpx.ReadError):  # cut before it could read the answer
            chunked = 413
        assert chunked == 413
        assert (await client.post(path, content=b"x" * 100_000)).text == "100000"


async def test_a_handler_that_hangs_is_stopped(serving: Any) -> None:
    async with serving(guarded(replace(TIGHT, handler_seconds=0.3))) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            answer = await client.get("/stuck", timeout=60)
        assert (answer.status_code, answer.json()["code"]) == (503, "deadline_exceeded")
        assert answer.headers["retry-after"] == "1"


async def test_one_key_has_so_many_requests_at_a_time_whatever_the_address(serving: Any) -> None:
    limits = replace(TIGHT, body_seconds=5.0)
    async with serving(guarded(limits, trusted=("127.0.0.0/8",))) as port:
        holding = [
            asyncio.create_task(
                until_closed(port, slow_upload(extra=f"Authorization: Bearer k\r\nX-Forwarded-For: 192.0.2.{n}\r\n"))
            )
            for n in range(TIGHT.per_key)
        ]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            same = await answering(client, 429, Authorization="Bearer k")
            other = await client.get("/", headers={"Authorization": "Bearer l"})
        assert (same.status_code, same.json()["code"]) == (429, "too_many_with_key")
        assert other.status_code == 200
        await asyncio.gather(*holding)


@pytest.mark.parametrize(
    ("limits", "path"),
    [
        (replace(TIGHT, uploads=3), "/"),
        (replace(TIGHT, in_flight=3), "/stuck"),
        (replace(TIGHT, buffered_bytes=8), "/"),
    ],
)
async def test_the_process_as_a_whole_has_bounds_too(serving: Any, limits: Limits, path: str) -> None:
    body = "Content-Length: 1000\r\n\r\nabc" if path == "/" else "\r\n"
    async with serving(guarded(limits)) as port:
        ends = await asyncio.gather(
            *(until_closed(port, f"POST {path} HTTP/1.1\r\nHost: x\r\n{body}".encode()) for _ in range(8))
        )
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.post("/", content=b"abc")).text == "3"
    assert 503 in ends


async def test_silent_connections_are_closed(serving: Any) -> None:
    async with serving(guarded(TIGHT), header_seconds=0.5) as port:
        for beginning in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
            await until_closed(port, beginning)


async def test_only_trusted_proxies_are_believed() -> None:
    def scope(peer: str, *told: str) -> AsgiScope:
        return {"client": (peer, 1), "headers": [(b"x-forwarded-for", line.encode()) for line in told]}  # type: ignore[return-value]

    origin = Origin(("10.0.0.0/8",))
    assert origin.of(scope("192.0.2.1", "198.51.100.7")) == "192.0.2.1"
    assert origin.of(scope("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2")) == "198.51.100.7"
    assert origin.of(scope("10.0.0.1", "203.0.113.9", "198.51.100.7")) == "198.51.100.7"
    assert origin.of(scope("10.0.0.1")) == "10.0.0.1"
    assert origin.of(scope("10.0.0.1", "junk")) == "junk"
    assert Origin().of(scope("2001:db8::1")) == Origin().of(scope("2001:db8::ffff")) == "2001:db8::/64"
    assert Origin().of(scope("::ffff:192.0.2.1")) == "192.0.2.1"


async def test_compressed_bodies_are_refused() -> None:
    transport = httpx.ASGITransport(guarded(TIGHT))
    async with httpx.AsyncClient(transport=transport, base_url="http://waypost") as client:
        answer = await client.post("/", content=b"x", headers={"Content-Encoding": "gzip"})
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_content_encoding")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["request_id"] == answer.headers["waypost-request-id"]
        assert (await client.post("/", content=b"x", headers={"Content-Encoding": "identity"})).status_code == 200


async def test_what_nobody_caught_is_a_bare_500(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_scope: AsgiScope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("jane@example.com")

    transport = httpx.ASGITransport(guarded(TIGHT, broken))
    async with httpx.AsyncClient(transport=transport, base_url="http://waypost") as client:
        answer = await client.get("/")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "jane" not in answer.text


async def test_metrics_count_by_route_and_never_read_a_body(serving: Any) -> None:
    registry = CollectorRegistry()
    metrics = HttpMetrics(registry)
    app = RequestLog(
        Limited(echo, limits=TIGHT, origin=Origin(), metrics=metrics), clock=SystemClock(), metrics=metrics
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://waypost") as client:
        await client.post("/jane@example.com", content=b"x" * 200_000)
    async with serving(metrics_app(registry)) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            text = (await client.get("/metrics")).text
            assert (await client.get("/")).status_code == 404
        assert 'waypost_http_requests_total{method="POST",route="unrouted",status="413"} 1.0' in text
        assert 'waypost_http_refused_total{reason="body_too_large"} 1.0' in text
        assert "jane" not in text
        assert await until_closed(port, slow_upload("/metrics")) == 404
