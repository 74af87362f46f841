"""Events from a Redis stream: `redis://host:6379/0?stream=bookings&group=waypost&tenant=acme`.

Workers of one group share the stream. An entry is confirmed once it is taken in or given up; one that failed, or whose
worker died, is taken up again after a while. Its field `event` (or `data`) holds the event as JSON.
"""

import asyncio
from typing import Any, Final

from waypost.adapters.consumers.cancelling import heed_cancellation
from waypost.adapters.consumers.stream_url import read_stream_url
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured, Unavailable
from waypost.kernel.ids import mint, show_ulid
from waypost.triggers.intake import Fate, Intake

_GROUP: Final = "waypost"
_BATCH: Final = 100
_WAIT_MS: Final = 2_000
_PATIENCE: Final = 15.0
_IDLE_MS: Final = 10_000
"""How long an entry may be unconfirmed before it is taken up again."""


class RedisConsumer:
    def __init__(self, url: str, intake: Intake, clock: Clock, *, idle_ms: int = _IDLE_MS) -> None:
        self._url = read_stream_url(url, "stream", "group", named_by="stream")
        self._stream = self._url.options["stream"]
        self._group = self._url.options.get("group") or _GROUP
        self._me = show_ulid(mint(clock))
        self._intake = intake
        self._idle_ms = idle_ms
        self._client: Any = None
        try:
            import redis.asyncio
        except ImportError:
            raise Misconfigured("Consuming from Redis needs the extra: pip install waypost[redis]") from None
        self._library: Any = redis.asyncio.Redis

    async def run(self) -> None:
        """Until cancelled. Raises `Unavailable` when the stream cannot be read."""
        from redis.exceptions import RedisError

        try:
            await self._open()
            while True:
                for entry_id, fields in await self._abandoned() or await self._new():
                    await self._take(entry_id, fields)
                    heed_cancellation()
                heed_cancellation()
        except (RedisError, OSError, TimeoutError) as error:
            await self.close()
            raise Unavailable(f"A Redis stream cannot be read: {type(error).__name__}.") from error

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _open(self) -> None:
        from redis.exceptions import ResponseError

        self._client = self._library.from_url(
            self._url.url, socket_connect_timeout=5.0, socket_timeout=_PATIENCE, single_connection_client=True
        )
        try:
            await self._client.xgroup_create(self._stream, self._group, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def _abandoned(self) -> list[tuple[bytes, dict[bytes, bytes]]]:
        answer = await self._client.xautoclaim(
            self._stream, self._group, self._me, min_idle_time=self._idle_ms, count=_BATCH
        )
        return [(entry_id, fields) for entry_id, fields in answer[1] if fields is not None]

    async def _new(self) -> list[tuple[bytes, dict[bytes, bytes]]]:
        async with asyncio.timeout(_PATIENCE):
            answer = await self._client.xreadgroup(
                self._group, self._me, {self._stream: ">"}, count=_BATCH, block=_WAIT_MS
            )
        return [entry for _, entries in answer or () for entry in entries]

    async def _take(self, entry_id: bytes, fields: dict[bytes, bytes]) -> None:
        body = fields.get(b"event") or fields.get(b"data") or b""
        fate = await self._intake.take(
            body, consumer=self._url.consumer, tenant=self._url.tenant, message_id=entry_id.decode()
        )
        if fate is not Fate.AGAIN:
            await self._client.xack(self._stream, self._group, entry_id)
