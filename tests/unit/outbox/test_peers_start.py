"""The servers that other tests lean on do start."""

import nats
import redis.asyncio as redis


async def test_redis_answers(redis_server: str) -> None:
    client = redis.from_url(redis_server)
    assert await client.ping()
    await client.aclose()


async def test_nats_has_jetstream(nats_server: str) -> None:
    client = await nats.connect(nats_server)
    info = await client.jetstream().account_info()
    assert info.streams == 0
    await client.close()
