"""Events to a Redis stream: `redis://host:6379/0?stream=waypost:events&maxlen=1000000`.

Each entry has the fields `id`, `type`, `key` and `event`, the last one the CloudEvent as JSON. An event may come twice;
`id` tells.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from waypost.adapters.publishers.addresses import read_address, read_count
from waypost.kernel.errors import Misconfigured
from waypost.outbox.ports import Outgoing, PublisherDown

READER: Final = 2
_STREAM: Final = "waypost:events"
_PATIENCE: Final = 10.0
_AWAY: Final = ("OOM", "READONLY", "LOADING", "NOAUTH", "NOPERM", "MASTERDOWN", "CLUSTERDOWN", "MISCONF", "WRONGTYPE")
"""Errors that speak of the broker or the stream, not of one event."""


class RedisStreams:
    """Implements `outbox.ports.Publisher`."""

    name = "redis"
    reader = READER

    def __init__(self, url: str) -> None:
        self._address = read_address(url, "stream", "maxlen")
        self._stream = self._address.options.get("stream") or _STREAM
        self._longest = read_count(self._address.options, "maxlen")
        self._client: Any = None

    async def publish(self, events: Sequence[Outgoing]) -> Sequence[bool]:
        client = self._connect()
        from redis.exceptions import RedisError

        try:
            async with asyncio.timeout(_PATIENCE):
                pipeline = client.pipeline(transaction=False)
                for event in events:
                    fields = {"id": event.id, "type": event.type, "key": event.key, "event": event.body}
                    pipeline.xadd(self._stream, fields, maxlen=self._longest, approximate=True)
                answers = await pipeline.execute(raise_on_error=False)
        except (RedisError, OSError, TimeoutError) as error:
            await self.close()
            raise PublisherDown(f"redis: {type(error).__name__}") from error
        for answer in answers:
            if isinstance(answer, Exception) and str(answer).startswith(_AWAY):
                raise PublisherDown(f"redis: {str(answer).split(' ', 1)[0]}")
        return [not isinstance(answer, Exception) for answer in answers]

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _connect(self) -> Any:
        if self._client is None:
            try:
                import redis.asyncio
            except ImportError:
                raise Misconfigured("Publishing to Redis needs the extra: pip install waypost[redis]") from None
            made: Any = redis.asyncio.Redis
            self._client = made.from_url(
                self._address.url, socket_connect_timeout=5.0, socket_timeout=_PATIENCE, single_connection_client=True
            )
        return self._client
