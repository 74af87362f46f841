"""The real API on a real server while others misbehave."""

import asyncio
from typing import Any

import asyncpg
import httpx
import pytest

from waypost.api.app import create_app
from waypost.api.limits import Limits

SEND = {
    "to": {"id": "user-42", "email": "jane@example.com"},
    "content": {"subject": "Hello", "text": "Hello"},
    "category": "transactional",
}


async def _hold(port: int, address: str) -> None:
    """A body of which never more than three bytes come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {address}\r\nContent-Length: 1000\r\n\r\nabc"
    )
    writer.write(head.encode())
    await reader.read()
    writer.close()


async def test_health_and_sends_are_answered_while_three_hundred_bodies_trickle(serving: Any, acme: Any) -> None:
    app = create_app(acme.app, limits=Limits(body_seconds=8))
    async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        flood = [asyncio.create_task(_hold(port, f"192.0.2.{n % 5}")) for n in range(300)]
        await asyncio.sleep(0.5)
        for n in range(10):
            health = await client.get("/healthz")
            sent = await client.post(
                "/v1/notifications",
                json=SEND,
                headers={"Authorization": f"Bearer {acme.key}", "X-Forwarded-For": f"198.51.100.{n}"},
            )
            assert (health.status_code, sent.status_code) == (200, 202)
        assert not all(upload.done() for upload in flood), "they were served while the flood stood"
        await asyncio.wait_for(asyncio.gather(*flood), 60)


async def test_a_call_that_waits_too_long_is_rolled_back_and_its_connection_is_whole(
    acme: Any, admin: asyncpg.Connection
) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"locale": "en"})
    app = create_app(acme.app, limits=Limits(handler_seconds=2))
    transport = httpx.ASGITransport(app)
    headers = {"Authorization": f"Bearer {acme.key}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://waypost", headers=headers) as client:
        async with admin.transaction():
            await admin.execute("select * from recipients for update")
            stopped = await client.put("/v1/recipients/u1", json={"locale": "de"})
        assert (stopped.status_code, stopped.json()["code"]) == (503, "deadline_exceeded")
        assert (await client.get("/v1/recipients/u1")).json()["locale"] == "en"
        assert (await client.put("/v1/recipients/u1", json={"locale": "de"})).json()["locale"] == "de"


async def test_paths_are_decoded_once_on_the_real_server(serving: Any, acme: Any) -> None:
    async with serving(create_app(acme.app)) as port:
        client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {acme.key}"})
        async with client:
            made = await client.put("/v1/recipients/a%7Cb%2Bc%3Dd~e%3Af%40g", json={})
            assert made.json()["id"] == "a|b+c=d~e:f@g"
            assert (await client.get("/v1/recipients/a|b+c=d~e:f@g")).json()["id"] == "a|b+c=d~e:f@g"
            for odd in ("%00", "%2500", "%FF", "%zz", "%E2%80%AE", "..", "%2e%2e", "a%2Fb", "x" * 3000):
                answer = await client.get(f"/v1/recipients/{odd}")
                assert answer.status_code == 404, odd


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /v1/notifications HTTP/1.1\r\n\r\n",
        b"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        b"GET /v1/notifications HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/notifications HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 5_000 + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x00",
    ],
    ids=range(11),
)
async def test_what_is_hardly_http_is_turned_away(serving: Any, acme: Any, raw: bytes) -> None:
    app = create_app(acme.app, limits=Limits(body_seconds=0.5))
    async with serving(app, header_seconds=0.5) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw)
        try:
            answer = await asyncio.wait_for(reader.read(), 5)
        except ConnectionResetError:
            answer = b""
        writer.close()
        assert answer == b"" or 400 <= int(answer.split()[1]) < 500, answer[:200]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/healthz")).status_code == 200
