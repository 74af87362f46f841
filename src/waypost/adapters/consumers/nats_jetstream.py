"""Events from NATS JetStream: `nats://host:4222?subject=bookings.>&stream=bookings&durable=waypost&tenant=acme`.

Workers share one durable consumer. A message is confirmed once it is taken in or given up; one that failed comes back
after a growing pause. The body is the event as JSON.
"""

import asyncio
from contextlib import suppress
from typing import Any, Final

from waypost.adapters.consumers.cancelling import heed_cancellation
from waypost.adapters.consumers.stream_url import read_stream_url
from waypost.kernel.errors import Misconfigured, Unavailable
from waypost.triggers.intake import Fate, Intake

_DURABLE: Final = "waypost"
_BATCH: Final = 100
_WAIT: Final = 2.0
_PATIENCE: Final = 10.0
_LONGEST_PAUSE: Final = 60.0


class NatsConsumer:
    def __init__(self, url: str, intake: Intake, *, first_pause: float = 1.0) -> None:
        self._url = read_stream_url(url, "subject", "stream", "durable", named_by="subject")
        self._subject = self._url.options["subject"]
        self._stream = self._url.options.get("stream")
        self._durable = self._url.options.get("durable") or _DURABLE
        self._intake = intake
        self._first_pause = first_pause
        self._client: Any = None
        try:
            import nats
        except ImportError:
            raise Misconfigured("Consuming from NATS needs the extra: pip install waypost[nats]") from None
        self._library: Any = nats

    async def run(self) -> None:
        """Until cancelled. Raises `Unavailable` when the stream cannot be read."""
        from nats.errors import Error
        from nats.errors import TimeoutError as NothingCame

        try:
            subscription = await self._open()
            while True:
                try:
                    messages = await subscription.fetch(_BATCH, timeout=_WAIT)
                except NothingCame:
                    messages = ()
                for message in messages:
                    await self._take(message)
                    heed_cancellation()
                heed_cancellation()
        except (Error, OSError, TimeoutError) as error:
            await self.close()
            raise Unavailable(f"A stream of NATS cannot be read: {type(error).__name__}.") from error

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(Exception):
                await client.close()

    async def _open(self) -> Any:
        async with asyncio.timeout(_PATIENCE):
            # A connection that broke is opened anew by whoever runs this, with all that hangs on it.
            self._client = await self._library.connect(
                self._url.url, allow_reconnect=False, connect_timeout=5, error_cb=_be_silent
            )
            jetstream = self._client.jetstream()
            return await jetstream.pull_subscribe(self._subject, durable=self._durable, stream=self._stream)

    async def _take(self, message: Any) -> None:
        about = message.metadata
        try:
            fate = await self._intake.take(
                message.data,
                consumer=self._url.consumer,
                tenant=self._url.tenant,
                message_id=f"{about.stream}-{about.sequence.stream}"[:128],
            )
        except Unavailable:
            await message.nak(delay=self._first_pause)
            raise
        if fate is Fate.AGAIN:
            await message.nak(delay=min(_LONGEST_PAUSE, self._first_pause * 2 ** min(about.num_delivered - 1, 10)))
        else:
            await message.ack()


async def _be_silent(_: Exception) -> None:
    """Whoever runs this says when the stream is away; the library would print it."""
