"""21. Junk to every route of a real server, those without a key included: 4xx, never 5xx, and the server stays up.

What each kind of junk is answered with is proved in tests/surfaces; here the bytes are raw and the server is Granian.
"""

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

ULID = "01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
BODIES = [
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b"[" * 100_000,
    b'{"name": "\xff\xfe"}',
    b'{"name": "a\\u0000b"}',
    b'{"name": "\\ud800"}',
    b'{"name": 1e999}',
    b'{"name": ' + b"9" * 5_000 + b"}",
    b'{"name": NaN}',
    b'{"name": "a", "name": "b"}',
    b'{"__proto__": {}, "constructor": 1}',
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"\x00" * 100,
]
SEGMENTS = [
    "{prefix}_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "{prefix}_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "%00", "%ff", "a" * 3_000, "-1",
    "1e9", "..%2f..%2fetc%2fpasswd", "%C0%AE%C0%AE", "%0d%0aX-Evil:%201", "{{7*7}}", "' or 1=1 --", "%E2%80%AE",
    "2147483648",
]  # fmt: skip
CONTENT = {"subject": "s", "text": "t"}
FIELDS: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/recipients/junk", {"timezone": "America"}),
    ("PUT", "/v1/recipients/junk", {"timezone": "A" * 5_000}),
    ("PUT", "/v1/recipients/junk", {"timezone": "../../etc/passwd"}),
    ("PUT", "/v1/recipients/junk", {"timezone": "posix/"}),
    ("PUT", "/v1/recipients/junk", {"locale": "x" * 5_000}),
    ("PUT", "/v1/recipients/junk", {"phone": "+" + "9" * 5_000}),
    ("PUT", "/v1/recipients/junk", {"email": "a" * 100_000 + "@hush.example"}),
    ("PUT", "/v1/recipients/junk", {"email": "a@" + "x." * 10_000 + "example"}),
    ("PUT", "/v1/recipients/junk", {"attributes": {"x": ["y"] * 200_000}}),
    ("PUT", "/v1/recipients/junk", {"attributes": {f"k{n}": n for n in range(50_000)}}),
    ("POST", "/v1/notifications", {"to": [{"email": "x@hush.example"}] * 1_001, "content": CONTENT}),
    ("POST", "/v1/notifications", {"to": [], "content": CONTENT}),
    ("POST", "/v1/notifications", {"to": "x", "content": CONTENT, "send_at": "9999-12-31T23:59:59Z"}),
    ("POST", "/v1/notifications", {"to": "x", "content": CONTENT, "send_at": "0001-01-01T00:00:00Z"}),
    ("POST", "/v1/suppressions", {"address": "x@hush.example", "expires_at": "0001-01-01T00:00:00+14:00"}),
    ("POST", "/v1/api-keys", {"name": "n", "scopes": ["notifications:send"] * 5_000}),
    ("GET", "/v1/notifications?created_from=9999-12-31T23:59:59Z&created_before=0001-01-01T00:00:00Z", None),
    ("GET", "/v1/notifications?created_from=9999-12-31T23:59:59-14:00", None),
]  # fmt: skip


def routes(fortress: Any) -> Iterator[tuple[str, str, Any]]:
    for method, path, operation in fortress.operations():
        caller = fortress.platform if fortress.is_platforms(operation) else fortress.junk
        yield method, path, caller
    for path in (
        "/",
        "/nothing",
        "/v1",
        "/v1/nothing",
        "//v1/recipients",
        "/%2e%2e/v1/recipients",
        "/metrics",
        "/sign-in",
    ):
        yield "GET", path, fortress.junk


def filled(path: str, segment: str = "x") -> str:
    prefix = {"notifications": "ntf", "requests": "req", "api-keys": "key"}.get([*path.split("/"), "", ""][2], "adr")
    return re.sub(r"{\w+}", segment.replace("{prefix}", prefix).replace("\\", ""), path)


def test_junk_bodies_ids_and_fields_are_refused_by_every_route(fortress: Any) -> None:
    fortress.junk = fortress.tenant("junk")
    with fortress.unshaken():
        asked = 0
        for method, path, caller in routes(fortress):
            for body in BODIES:
                answer = caller(method, filled(path), body)
                asked += 1
                # Where no body is read at all, nothing is wrong with it.
                assert 400 <= answer.status_code < 500 or reads_no_body(path), (path, body[:30])
                assert answer.status_code < 500
            for segment in SEGMENTS if "{" in path else ():
                if method != "PUT":
                    answer = caller(method, filled(path, segment))
                    asked += 1
                    assert 400 <= answer.status_code < 500, (method, path, segment, answer.text)
        for method, path, body in FIELDS:
            answer = fortress.junk(method, path, body)
            assert answer.status_code < 500, (method, path, answer.text[:300])
            assert method == "GET" or answer.status_code in (400, 413, 422), (method, path, str(body)[:80], answer.text)
        assert asked > 600


def reads_no_body(path: str) -> bool:
    return not path.startswith("/v1/")


def test_sixty_megabytes_in_chunks_are_cut_everywhere(fortress: Any) -> None:
    host, port = fortress.url.removeprefix("http://").split(":")
    chunk = b"186a0\r\n" + b"x" * 100_000 + b"\r\n"
    fortress.junk = getattr(fortress, "junk", None) or fortress.tenant("junk-chunks")
    paths = sorted({filled(path) for _, path, _ in routes(fortress)})
    with fortress.unshaken():
        for path in paths:
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            with socket.create_connection((host, int(port)), timeout=15) as connection:
                connection.sendall(head)
                sent = 0
                with suppress(ConnectionError):
                    for _ in range(600):
                        connection.sendall(chunk)
                        sent += 1
                answer = b""
                with suppress(ConnectionError):
                    answer = connection.recv(4_096)
            assert sent < 300, path
            assert not answer or 400 <= int(answer.split()[1]) < 500, (path, answer[:100])


RAW = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET  /v1/recipients HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"G" * 100_000,
    b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 5_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://127.0.0.1:1/v1/recipients HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /v1/recipients HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
]


def test_bytes_that_are_no_http_leave_the_server_standing(fortress: Any) -> None:
    host, port = fortress.url.removeprefix("http://").split(":")
    with fortress.unshaken():
        for sent in RAW:
            with socket.create_connection((host, int(port)), timeout=15) as connection:
                received = b""
                with suppress(OSError):
                    connection.sendall(sent)
                    connection.shutdown(socket.SHUT_WR)
                    received = connection.recv(4_096)
                status = int(received.split()[1]) if received.startswith(b"HTTP/1") else 400
                assert 400 <= status < 500, (sent[:60], received[:200])
            assert fortress.http.get("/healthz").status_code == 200
