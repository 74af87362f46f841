"""Words between the streams of all processes, by Redis: only processes where somebody is connected hear of them.

`notif:ws:{tenant}:{recipient}` is the set of processes to which that person is connected; each process hears the
channel `notif:ws:process:{its id}`, and all of them `notif:ws:everyone`. A process that died leaves its id behind for a
while, which costs a message to nobody.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, cast
from uuid import UUID, uuid4

from waypost.inbox.bell import Word
from waypost.inbox.ports import Ringing
from waypost.inbox.words import read_ringings
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured

_EVERYONE: Final = "notif:ws:everyone"
_PATIENCE: Final = 5.0
_KEPT: Final = 120
"""Seconds for which a connection is remembered that nobody confirms."""
_CONFIRM_EVERY: Final = 40.0
_MOST_AT_ONCE: Final = 2_000


def route_of(tenant_id: str, recipient_id: UUID) -> str:
    return f"notif:ws:{tenant_id}:{recipient_id}"


def channel_of(process: str) -> str:
    return f"notif:ws:process:{process}"


class RedisInboxRinger:
    """Implements `inbox.bell.Ringer`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Any = None

    async def ring(self, owed: Sequence[Word]) -> int:
        taken = owed[:_MOST_AT_ONCE]
        if self._client is None:
            self._client = _client(self._url)
        with suppress(*_failures()):
            async with asyncio.timeout(_PATIENCE):
                await self._send(taken)
        return len(taken)

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _send(self, owed: Sequence[Word]) -> None:
        directed = [(word, word.recipient_id) for word in owed if word.recipient_id is not None]
        said: dict[str, list[str]] = {}
        if everyone := [word.text for word in owed if word.recipient_id is None]:
            said[_EVERYONE] = everyone
        if directed:
            asking = self._client.pipeline(transaction=False)
            for word, recipient_id in directed:
                asking.smembers(route_of(word.tenant_id, recipient_id))
            for (word, _), processes in zip(directed, await asking.execute(), strict=True):
                for process in processes:
                    said.setdefault(channel_of(process.decode()), []).append(word.text)
        telling = self._client.pipeline(transaction=False)
        for channel, texts in said.items():
            telling.publish(channel, ",".join(texts))
        if said:
            await telling.execute()


class RedisInboxEar:
    """Implements `inbox.ports.InboxEar`."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._process = uuid4().hex
        self._streams: dict[tuple[str, UUID], int] = {}
        self._unconfirmed: set[tuple[str, UUID]] = set()
        self._changed = asyncio.Event()

    def arrived(self, tenant_id: str, recipient_id: UUID) -> None:
        who = (tenant_id, recipient_id)
        self._streams[who] = self._streams.get(who, 0) + 1
        self._unconfirmed.add(who)
        self._changed.set()

    def left(self, tenant_id: str, recipient_id: UUID) -> None:
        who = (tenant_id, recipient_id)
        self._streams[who] -= 1
        if not self._streams[who]:
            del self._streams[who]
        self._unconfirmed.add(who)
        self._changed.set()

    async def listen(self, heard: Callable[[Ringing], None]) -> None:
        """Until cancelled. A gap says that anything may have been missed."""
        while True:
            client = _client(self._url)
            try:
                await self._listen_on(client, heard)
            except _failures():
                heard(Ringing(is_gap=True))
            finally:
                with suppress(*_failures()):
                    await client.aclose()
            await self._clock.sleep(1.0)

    async def _listen_on(self, client: Any, heard: Callable[[Ringing], None]) -> None:
        pubsub = client.pubsub(ignore_subscribe_messages=True)
        try:
            async with asyncio.timeout(_PATIENCE):
                await pubsub.subscribe(_EVERYONE, channel_of(self._process))
                await self._confirm(client, list(self._streams))
            heard(Ringing(is_gap=True))
            await _first_failure(self._keep_confirming(client, heard), _hear(pubsub, heard))
        finally:
            with suppress(*_failures()):
                await pubsub.aclose()

    async def _keep_confirming(self, client: Any, heard: Callable[[Ringing], None]) -> None:
        while True:
            self._changed.clear()
            fresh, self._unconfirmed = self._unconfirmed, set()
            await self._confirm(client, fresh)
            # What was rung before their connection was known reached nobody: they look for themselves.
            for who in fresh & self._streams.keys():
                heard(Ringing(recipient_id=who[1], is_gap=True))
            if await self._is_quiet_for(_CONFIRM_EVERY):
                await self._confirm(client, list(self._streams))

    async def _is_quiet_for(self, seconds: float) -> bool:
        waiting: list[asyncio.Task[Any]] = [
            asyncio.ensure_future(self._changed.wait()),
            asyncio.ensure_future(self._clock.sleep(seconds)),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return not self._changed.is_set()

    async def _confirm(self, client: Any, people: Sequence[tuple[str, UUID]] | set[tuple[str, UUID]]) -> None:
        if not people:
            return
        noting = client.pipeline(transaction=False)
        for who in people:
            route = route_of(*who)
            if who in self._streams:
                noting.sadd(route, self._process)
                noting.expire(route, _KEPT)
            else:
                noting.srem(route, self._process)
        async with asyncio.timeout(_PATIENCE):
            await noting.execute()


async def _first_failure(*endless: Coroutine[Any, Any, None]) -> None:
    """Not a group of tasks: one that fails while it is cancelled tells of the failure, and the cancelling is lost."""
    tasks = [asyncio.create_task(one) for one in endless]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hear(pubsub: Any, heard: Callable[[Ringing], None]) -> None:
    async for message in pubsub.listen():
        for ringing in read_ringings(message["data"].decode(errors="replace")):
            heard(ringing)


def _client(url: str) -> Any:
    try:
        import redis.asyncio
    except ImportError:
        raise Misconfigured("WAYPOST_FANOUT needs the extra: pip install waypost[redis]") from None
    made: Any = redis.asyncio.Redis
    return made.from_url(url, socket_connect_timeout=_PATIENCE, health_check_interval=15)


def _failures() -> tuple[type[Exception], ...]:
    from redis.exceptions import RedisError

    return (cast("type[Exception]", RedisError), OSError)
