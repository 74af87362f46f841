"""The brokers named in the settings."""

from collections.abc import Sequence
from importlib.util import find_spec
from urllib.parse import urlsplit

from waypost.adapters.publishers.nats_jetstream import NatsJetStream
from waypost.adapters.publishers.redis_streams import RedisStreams
from waypost.kernel.errors import Misconfigured
from waypost.outbox.ports import Publisher
from waypost.settings import Settings


def publishers_of(settings: Settings) -> Sequence[Publisher]:
    """At most one of each kind: what has been told to whom is kept by kind."""
    found: dict[int, Publisher] = {}
    for url in settings.publish.reveal().split(",") if settings.publish else ():
        publisher = _publisher(url.strip())
        if publisher.reader in found:
            raise Misconfigured(f"WAYPOST_PUBLISH names two brokers of the kind {publisher.name}; name one.")
        found[publisher.reader] = publisher
    return list(found.values())


def _publisher(url: str) -> Publisher:
    publisher = NatsJetStream(url) if urlsplit(url).scheme in ("nats", "tls") else RedisStreams(url)
    if find_spec(publisher.name) is None:
        raise Misconfigured(f"Publishing to {publisher.name} needs the extra: pip install waypost[{publisher.name}]")
    return publisher
