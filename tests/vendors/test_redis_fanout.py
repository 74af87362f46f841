"""Who has streams where, and who is told, on a Redis that comes and goes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from redis.asyncio import Redis
from tests.peers import free_port, redis_command, running

from waypost.adapters.fanout.redis_inbox import RedisInboxEar, RedisInboxRinger, route_of
from waypost.inbox.bell import Word
from waypost.inbox.ports import Ringing
from waypost.inbox.words import for_everyone, for_person
from waypost.kernel.clock import SystemClock

INBOX, JANE, MAX = UUID(int=1), UUID(int=2), UUID(int=3)


async def until(ask: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(60):
        while not (answer := await ask()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return answer


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)


async def test_only_the_process_of_a_person_hears_what_is_theirs(redis_server: str) -> None:
    heard: tuple[list[Ringing], list[Ringing]] = ([], [])
    ears = [RedisInboxEar(redis_server, SystemClock()) for _ in heard]
    listening = [asyncio.create_task(ear.listen(into.append)) for ear, into in zip(ears, heard, strict=True)]
    ears[0].arrived("acme", JANE)
    ears[1].arrived("acme", MAX)
    redis, ringer = Redis.from_url(redis_server), RedisInboxRinger(redis_server)
    for who in (JANE, MAX):
        await until(lambda who=who: redis.scard(route_of("acme", who)))
    person = Word(for_person(INBOX, JANE), "acme", JANE)
    namesake = Word(for_person(INBOX, JANE), "globex", JANE)
    await ringer.ring([namesake, person, Word(for_everyone(INBOX), "acme")])

    async def told() -> bool:
        return all(Ringing(inbox_id=INBOX, is_public=True) in one for one in heard)

    await until(told)
    own = Ringing(inbox_id=INBOX, recipient_id=JANE)
    assert (heard[0].count(own), heard[1].count(own)) == (1, 0)
    ears[0].left("acme", JANE)

    async def forgotten() -> bool:
        return not await redis.exists(route_of("acme", JANE))

    await until(forgotten)
    for task in listening:
        await stop(task)
    await ringer.close()
    await redis.aclose()


async def test_a_redis_that_comes_and_goes_costs_time_only(tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    heard: list[Ringing] = []
    ear, ringer = RedisInboxEar(url, SystemClock()), RedisInboxRinger(url)
    ear.arrived("acme", JANE)
    listening = asyncio.create_task(ear.listen(heard.append))
    word = Word(for_person(INBOX, JANE), "acme", JANE)
    assert await ringer.ring([word]) == 1, "never fails, and owes nothing afterwards"

    async def told_of_a_gap() -> bool:
        return Ringing(is_gap=True) in heard

    async def told() -> bool:
        await ringer.ring([word])
        return Ringing(inbox_id=INBOX, recipient_id=JANE) in heard

    await until(told_of_a_gap)
    for _ in range(2):
        heard.clear()
        async with running(redis_command(tmp_path, port), port):
            await until(told)
        await until(told_of_a_gap)
    await stop(listening)
    await ringer.close()
