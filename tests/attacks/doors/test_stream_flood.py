"""20. Two thousand connections held open from one address, silent, half-spoken or idle: nobody is kept out.

There are no event streams yet; when there are, they belong here too.
"""

import asyncio
import time
from typing import Any

CONNECTIONS = 2_000
FROM = "127.0.0.77"
BEGINNINGS = (
    b"",
    b"GET /healthz HT",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/notifications HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
)


async def hold(host: str, port: int, beginning: bytes) -> float:
    """For how long a connection was let stand."""
    try:
        reader, writer = await asyncio.open_connection(host, port, local_addr=(FROM, 0))
    except OSError:
        return 0
    began = time.monotonic()
    try:
        writer.write(beginning)
        async with asyncio.timeout(30):
            while await reader.read(4_096):
                pass
    except (ConnectionError, TimeoutError):
        pass
    finally:
        writer.close()
    return time.monotonic() - began


async def test_others_are_served_while_two_thousand_connections_stand(fortress: Any, wall_a: Any) -> None:
    host, _, port = fortress.url.removeprefix("http://").partition(":")
    with fortress.unshaken(), fortress.watched(wall_a) as waits:
        stood = await asyncio.gather(
            *(hold(host, int(port), BEGINNINGS[number % len(BEGINNINGS)]) for number in range(CONNECTIONS))
        )
    assert len(waits) > 10
    fortress.assert_served(waits)
    assert max(stood) < 30, "every one of them was cut"
