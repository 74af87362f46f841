"""Events pulled from streams: taken in once, tried ten times at most, and never lost sight of."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.peers import nats_server, redis_server  # noqa: F401 - fixtures

from waypost.adapters.consumers.nats_jetstream import NatsConsumer
from waypost.adapters.consumers.redis_streams import RedisConsumer
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Misconfigured, Unavailable
from waypost.kernel.tenancy import PLATFORM
from waypost.triggers.intake import DEAD_AFTER, Fate


def body(number: int = 1, **fields: Any) -> bytes:
    guest = {"id": f"user-{number}", "email": f"user-{number}@example.com"}
    usual = {"id": f"evt-{number}", "type": "t", "occurred_at": datetime.now(UTC).isoformat(), "data": {"guest": guest}}
    return json.dumps(usual | fields).encode()


async def take(bureau: Any, what: bytes, **options: Any) -> Fate:
    usual: dict[str, Any] = {"consumer": "bookings", "tenant": "acme", "message_id": "1-0"}
    return await bureau.intake.take(what, **(usual | options))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(90):
        while not await condition():  # noqa: ASYNC110 - the condition is in another process
            await asyncio.sleep(0.02)


async def test_a_pulled_event_is_taken_in_once_by_the_workers_role(bureau: Any) -> None:
    await bureau.trigger()
    for _ in range(3):
        assert await take(bureau, body()) is Fate.DONE
    assert await bureau.count("notifications") == 1


async def test_an_event_as_a_cloud_event_and_one_that_names_its_tenant(bureau: Any) -> None:
    await bureau.trigger()
    cloud = {"specversion": "1.0", "source": "/bookings", "time": "2026-01-15T12:00:00Z", "occurred_at": None}
    assert await take(bureau, body(1, **cloud)) is Fate.DONE
    assert await take(bureau, body(2, tenant="acme"), tenant=None) is Fate.DONE
    assert await bureau.count("notifications") == 2


async def test_a_poison_event_is_dead_after_ten_tries_and_can_be_brought_back(bureau: Any) -> None:
    await bureau.publish("picky", text="Dear {{ name }}")
    await bureau.trigger(template="picky")
    fates = [await take(bureau, body()) for _ in range(DEAD_AFTER)]
    assert fates == [Fate.AGAIN] * (DEAD_AFTER - 1) + [Fate.DEAD]
    row = await bureau.admin.fetchrow("select attempts, code, body, dead_at from event_failures")
    assert (row["attempts"], row["code"]) == (DEAD_AFTER, "missing_variable")
    assert row["dead_at"] is not None
    assert b"user-1" not in row["body"]
    assert await bureau.count("consumed_events") == 0
    await bureau.change({"variables": {"name": "$.data.guest.id"}})
    scope = bureau.scope_of("acme")
    async with bureau.api_work.begin("acme") as tx:
        [dead] = (await bureau.desk.dead.page(tx, scope, None, None)).items
        taken = await bureau.desk.dead.redrive(tx, scope, dead.id)
    assert taken.counts.notifications == 1
    assert await bureau.count("event_failures") == 0


@pytest.mark.parametrize(
    ("what", "tenant", "code"),
    [
        (b"", "acme", "unreadable_event"),
        (b"[1]", "acme", "unreadable_event"),
        (b"\xff", "acme", "unreadable_event"),
        (b'{"id": "1", "type": "t", "data": {}}', "acme", "unreadable_event"),
        (b'{"id": "1", "type": "t", "occurred_at": "2026-01-15T12:00:00Z", "data": []}', "acme", "unreadable_event"),
        (body(1, data={"x": "\0"}), "acme", "unreadable_event"),
        (body(1), None, "tenant_missing"),
        (body(1, tenant="../etc"), None, "tenant_missing"),
    ],
)
async def test_what_cannot_be_read_goes_to_the_operator_at_once(
    bureau: Any, what: bytes, tenant: str | None, code: str
) -> None:
    assert await take(bureau, what, tenant=tenant) is Fate.DEAD
    row = await bureau.admin.fetchrow("select tenant_id, code from event_failures")
    assert tuple(row) == (PLATFORM, code)


async def test_events_of_tenants_that_are_not_there_or_not_active_wait_and_then_go_to_people(bureau: Any) -> None:
    await bureau.make_tenant("closed", status="suspended")
    for tenant, kept in (("closed", "closed"), ("nobody", PLATFORM)):
        assert await take(bureau, body(), tenant=tenant) is Fate.AGAIN
        row = await bureau.admin.fetchrow("select code from event_failures where tenant_id = $1", kept)
        assert row["code"] == "tenant_inactive"


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "nats://127.0.0.1:1"])
def test_a_stream_that_is_not_named_is_a_mistake_of_the_operator(url: str) -> None:
    nobody: Any = None
    with pytest.raises(Misconfigured):
        RedisConsumer(url, nobody, SystemClock()) if url.startswith("redis") else NatsConsumer(url, nobody)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0?stream=s", "nats://127.0.0.1:1?subject=s"])
async def test_a_stream_that_is_away_is_told(url: str, bureau: Any) -> None:
    consumer = (
        RedisConsumer(url, bureau.intake, SystemClock())
        if url.startswith("redis")
        else NatsConsumer(url, bureau.intake)
    )
    with pytest.raises(Unavailable):
        await consumer.run()


async def repeat(consumer: Any) -> None:
    """As a worker's chore does: a stream that was away for a moment is read again."""
    while True:
        with suppress(Unavailable):
            await consumer.run()


async def running(consumer: Any, condition: Callable[[], Awaitable[bool]]) -> None:
    task = asyncio.create_task(repeat(consumer))
    try:
        await until(condition)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await consumer.close()


async def test_events_from_a_redis_stream(bureau: Any, redis_server: str) -> None:  # noqa: F811
    import redis.asyncio as library

    await bureau.publish("picky", text="Dear {{ name }}")
    await bureau.trigger()
    await bureau.trigger(event_type="poison", template="picky")
    client = library.Redis.from_url(redis_server)
    for number in (1, 2, 2, 3):
        await client.xadd("bookings", {"event": body(number)})
    await client.xadd("bookings", {"data": body(4)})
    await client.xadd("bookings", {"event": body(9, type="poison")})
    await client.xadd("bookings", {"nothing": "here"})

    async def settled() -> bool:
        groups = await client.xinfo_groups("bookings")
        return bool(groups) and groups[0]["pending"] == 0 and groups[0]["lag"] == 0

    url = f"{redis_server}?stream=bookings&tenant=acme"
    await running(RedisConsumer(url, bureau.intake, SystemClock(), idle_ms=1), settled)
    assert await bureau.count("notifications") == 4
    rows = await bureau.admin.fetch("select code, attempts from event_failures order by attempts")
    assert [tuple(row) for row in rows] == [("unreadable_event", 1), ("missing_variable", DEAD_AFTER)]
    await client.aclose()


async def test_what_a_dead_worker_left_unconfirmed_is_taken_up(bureau: Any, redis_server: str) -> None:  # noqa: F811
    import redis.asyncio as library

    await bureau.trigger()
    client = library.Redis.from_url(redis_server)
    await client.xadd("bookings", {"event": body(1)})
    await client.xgroup_create("bookings", "waypost", id="0")
    assert await client.xreadgroup("waypost", "the dead one", {"bookings": ">"})

    async def settled() -> bool:
        return (await client.xinfo_groups("bookings"))[0]["pending"] == 0

    url = f"{redis_server}?stream=bookings&tenant=acme"
    await running(RedisConsumer(url, bureau.intake, SystemClock(), idle_ms=1), settled)
    assert await bureau.count("notifications") == 1
    await client.aclose()


async def test_events_from_nats_jetstream(bureau: Any, nats_server: str) -> None:  # noqa: F811
    import nats

    library: Any = nats
    await bureau.publish("picky", text="Dear {{ name }}")
    await bureau.trigger()
    await bureau.trigger(event_type="poison", template="picky")
    client = await library.connect(nats_server)
    stream = client.jetstream()
    await stream.add_stream(name="bookings", subjects=["bookings.>"])
    for number in (1, 2, 2, 3):
        await stream.publish("bookings.created", body(number))
    await stream.publish("bookings.created", body(9, type="poison"))
    await stream.publish("bookings.created", b"not an event")

    async def settled() -> bool:
        with suppress(Exception):
            about = await stream.consumer_info("bookings", "waypost")
            return about.num_pending == 0 and about.num_ack_pending == 0
        return False

    url = f"{nats_server}?subject=bookings.%3E&tenant=acme"
    await running(NatsConsumer(url, bureau.intake, first_pause=0.01), settled)
    assert await bureau.count("notifications") == 3
    rows = await bureau.admin.fetch("select code, attempts from event_failures order by attempts")
    assert [tuple(row) for row in rows] == [("unreadable_event", 1), ("missing_variable", DEAD_AFTER)]
    await client.close()
