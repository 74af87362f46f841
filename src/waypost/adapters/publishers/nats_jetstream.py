"""Events to NATS JetStream: `nats://host:4222?subject=waypost.events&stream=waypost-events`.

The subject is `waypost.events.<tenant>.<type>`, the body the CloudEvent as JSON, `Nats-Msg-Id` the event's id, so the
server drops what comes twice within its window. Where no stream takes these subjects, one is made.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from waypost.adapters.publishers.addresses import read_address
from waypost.kernel.errors import Misconfigured
from waypost.outbox.ports import Outgoing, PublisherDown

READER: Final = 1
_SUBJECT: Final = "waypost.events"
_STREAM: Final = "waypost-events"
_PATIENCE: Final = 10.0
_AT_ONCE: Final = 500


class NatsJetStream:
    """Implements `outbox.ports.Publisher`."""

    name = "nats"
    reader = READER

    def __init__(self, url: str) -> None:
        self._address = read_address(url, "subject", "stream")
        self._subject = self._address.options.get("subject") or _SUBJECT
        self._stream = self._address.options.get("stream") or _STREAM
        self._client: Any = None
        self._jetstream: Any = None

    async def publish(self, events: Sequence[Outgoing]) -> Sequence[bool]:
        jetstream = await self._connect()
        from nats.errors import Error, MaxPayloadError

        kept: list[bool] = []
        try:
            async with asyncio.timeout(_PATIENCE):
                for start in range(0, len(events), _AT_ONCE):
                    asked: list[asyncio.Future[Any] | None] = []
                    for event in events[start : start + _AT_ONCE]:
                        headers = {"Nats-Msg-Id": event.id, "Content-Type": "application/cloudevents+json"}
                        subject = f"{self._subject}.{event.tenant_id}.{event.type}"
                        try:
                            asked.append(await jetstream.publish_async(subject, event.body, headers=headers))
                        except MaxPayloadError:
                            asked.append(None)
                    for answer in asked:
                        if answer is not None:
                            await answer
                        kept.append(answer is not None)
        except (Error, OSError, TimeoutError) as error:
            await self.close()
            raise PublisherDown(f"nats: {type(error).__name__}") from error
        return kept

    async def close(self) -> None:
        if self._client is not None:
            client, self._client, self._jetstream = self._client, None, None
            with suppress(Exception):
                await client.close()

    async def _connect(self) -> Any:
        if self._jetstream is not None and self._client is not None and self._client.is_connected:
            return self._jetstream
        await self.close()
        try:
            import nats
            from nats.errors import Error
            from nats.js.errors import NotFoundError
        except ImportError:
            raise Misconfigured("Publishing to NATS needs the extra: pip install waypost[nats]") from None
        try:
            async with asyncio.timeout(_PATIENCE):
                # What is not answered is told again by the relay, in order; a client that resends on its own is not.
                library: Any = nats
                self._client = await library.connect(
                    self._address.url, allow_reconnect=False, connect_timeout=5, error_cb=_be_silent
                )
                self._jetstream = self._client.jetstream(publish_async_max_pending=2 * _AT_ONCE)
                try:
                    await self._jetstream.find_stream_name_by_subject(f"{self._subject}.>")
                except NotFoundError:
                    await self._jetstream.add_stream(name=self._stream, subjects=[f"{self._subject}.>"])
        except (Error, OSError, TimeoutError) as error:
            await self.close()
            raise PublisherDown(f"nats: {type(error).__name__}") from error
        return self._jetstream


async def _be_silent(_: Exception) -> None:
    """The relay says when a broker is away; the library would print it."""
