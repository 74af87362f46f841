"""What `WAYPOST_CONSUME` says: where a stream is, and, in the query, which one, for whom, and under which name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from waypost.kernel.errors import Misconfigured

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_SHARED: Final = ("tenant", "consumer")


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamUrl:
    url: str
    """Without what is ours in the query. It may hold a password."""
    options: Mapping[str, str]
    tenant: str | None
    """None: each event names its own."""
    consumer: str
    """Under which events are taken in once."""

    def __repr__(self) -> str:
        return f"StreamUrl({urlsplit(self.url).scheme}://…)"


def read_stream_url(text: str, *ours: str, named_by: str) -> StreamUrl:
    """`named_by`: the option that must be there, and that names the consumer where nothing else does."""
    parts = urlsplit(text)
    query = parse_qsl(parts.query, keep_blank_values=True)
    options = {name: value for name, value in query if name in ours}
    rest = [(name, value) for name, value in query if name not in ours and name not in _SHARED]
    shared = dict(query)
    source = options.get(named_by)
    if not source:
        raise Misconfigured(f"WAYPOST_CONSUME: name the {named_by} in the query, as in ?{named_by}=bookings.")
    consumer = shared.get("consumer") or re.sub(r"[^A-Za-z0-9._-]+", "-", source).strip("-.")[:64]
    if not _NAME.match(consumer):
        raise Misconfigured("WAYPOST_CONSUME: a consumer has 1 to 64 letters, digits or characters of `._-`.")
    return StreamUrl(
        url=urlunsplit(parts._replace(query=urlencode(rest))),
        options=options,
        tenant=shared.get("tenant") or None,
        consumer=consumer,
    )
