"""The streams named in the settings, from which events are pulled."""

from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from waypost.kernel.clock import Clock
from waypost.settings import Secret
from waypost.triggers.intake import Intake


class Consumer(Protocol):
    async def run(self) -> None: ...

    async def close(self) -> None: ...


def consumers_of(urls: Secret, intake: Intake, clock: Clock) -> Sequence[Consumer]:
    return [_consumer(url.strip(), intake, clock) for url in urls.reveal().split(",")]


def _consumer(url: str, intake: Intake, clock: Clock) -> Consumer:
    # Only who pulls from a stream pays for its library.
    if urlsplit(url).scheme in ("nats", "tls"):
        from waypost.adapters.consumers.nats_jetstream import NatsConsumer

        return NatsConsumer(url, intake)
    from waypost.adapters.consumers.redis_streams import RedisConsumer

    return RedisConsumer(url, intake, clock)
