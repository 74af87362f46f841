"""19. Two thousand uploads that never end, from one address: everybody else is served in time, and they are cut."""

import asyncio
from typing import Any

ATTACKERS = 2_000
# Any address of 127/8 is this machine's own: the attacker has one, everybody else another.
FROM = "127.0.0.66"


async def upload(host: str, port: int, head: bytes) -> int:
    """The status that a slow upload ends with; 0 where it is cut without one."""
    try:
        reader, writer = await asyncio.open_connection(host, port, local_addr=(FROM, 0))
    except OSError:
        return 0
    try:
        writer.write(head)
        answering = asyncio.ensure_future(reader.read(2_000))
        for _ in range(30):
            writer.write(b"x")
            done, _ = await asyncio.wait([answering], timeout=1)
            if done:
                break
        answer = await answering
        return int(answer.split()[1]) if answer else 0
    except (ConnectionError, TimeoutError):
        return 0
    finally:
        writer.close()


async def test_others_are_served_while_two_thousand_uploads_trickle(fortress: Any, wall_a: Any) -> None:
    host, _, port = fortress.url.removeprefix("http://").partition(":")
    head = (
        b"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
    )
    with fortress.unshaken(), fortress.watched(wall_a) as waits:
        ends = await asyncio.gather(*(upload(host, int(port), head) for _ in range(ATTACKERS)))
    assert len(waits) > 10
    fortress.assert_served(waits)
    # Those who got a place are cut by the time limit of a body, the others are turned away at once.
    assert ends.count(408) >= 1
    assert ends.count(429) >= ATTACKERS * 0.8
    assert set(ends) <= {0, 408, 429, 503}
