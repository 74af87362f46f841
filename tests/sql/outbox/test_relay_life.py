"""The relay's own life: it runs until it is told to stop, lets calls end, survives trouble, and tells how far it is."""

import asyncio
from typing import Any

from tests.web_peer import Asked, Reply

from waypost.adapters.postgres.outbox import PgUnread
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Unavailable
from waypost.outbox.standing import TellRelayStanding


async def test_it_runs_tells_and_stops_when_calls_have_ended(hall: Any) -> None:
    hall.clock = SystemClock()
    called, release = asyncio.Event(), asyncio.Event()

    async def behave(asked: Asked) -> Reply:
        called.set()
        await release.wait()
        return Reply()

    hall.peer.behave = behave
    await hall.endpoint()
    relay = hall.relay()
    running = asyncio.create_task(relay.run())
    await hall.tell(await hall.notification())
    await asyncio.wait_for(called.wait(), 30)
    stopping = asyncio.create_task(relay.stop(30))
    await asyncio.sleep(0)
    assert not running.done()
    release.set()
    await asyncio.wait_for(asyncio.gather(stopping, running), 30)
    assert await hall.count("webhook_deliveries", "state = 'delivered'") == 1


async def test_a_database_that_is_away_for_a_moment_is_waited_for(hall: Any, capsys: Any) -> None:
    relay = hall.relay()
    rounds = 0

    async def away() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise Unavailable("away")
        if rounds == 2:
            raise ZeroDivisionError
        return False

    repeating = asyncio.create_task(relay._repeat(away))
    for _ in range(4):
        await hall.later(seconds=3)
    repeating.cancel()
    assert rounds >= 3
    logged = "".join(capsys.readouterr())
    assert "relay_waits" in logged
    assert "relay_failed" in logged


async def test_one_tenant_s_trouble_is_not_another_s(hall: Any, monkeypatch: Any) -> None:
    await hall.make_tenant("globex")
    for tenant in ("acme", "globex"):
        await hall.endpoint(f"/{tenant}", tenant=tenant)
        await hall.tell(await hall.notification(tenant), tenant=tenant)
    relay = hall.relay()
    news = relay._expand.news

    async def broken_for_acme(tenant: str) -> bool:
        if tenant == "acme":
            raise ValueError
        return await news(tenant)

    monkeypatch.setattr(relay._expand, "news", broken_for_acme)
    await hall.step(relay)
    assert [asked.path for asked in hall.peer.asked] == ["/globex"]


async def test_a_suspended_tenant_s_endpoints_are_not_called(hall: Any) -> None:
    await hall.endpoint()
    await hall.tell(await hall.notification())
    await hall.admin.execute("update tenants set status = 'suspended'")
    await hall.step(hall.relay())
    assert hall.peer.asked == []
    await hall.admin.execute("update tenants set status = 'active'")
    await hall.step(hall.relay())
    assert len(hall.peer.asked) == 1


async def test_it_tells_how_far_it_is_behind(hall: Any) -> None:
    tell = TellRelayStanding(work=hall.worker, store=PgUnread(), telemetry=hall.counts, clock=hall.clock)
    await tell()
    assert hall.counts.waiting == {}
    await hall.endpoint()
    await hall.tell(await hall.notification())
    await hall.later(minutes=10)
    await tell()
    count, oldest = hall.counts.waiting["webhooks"]
    assert count == 1
    assert oldest >= 590
    await hall.relay().expand_round()
    await hall.later(minutes=1)
    await tell()
    assert "webhooks" not in hall.counts.waiting
    assert hall.counts.waiting["calls"][0] == 1
