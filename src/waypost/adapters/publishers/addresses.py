"""What `WAYPOST_PUBLISH` says: where a broker is, and, in the query, how events are named there."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from waypost.kernel.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    url: str
    """Without what is ours in the query. It may hold a password."""
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"BrokerAddress({urlsplit(self.url).scheme}://…)"


def read_address(url: str, *ours: str) -> BrokerAddress:
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    rest = [(name, value) for name, value in query if name not in ours]
    bare = urlunsplit(parts._replace(query=urlencode(rest)))
    return BrokerAddress(bare, {name: value for name, value in query if name in ours})


def read_count(options: Mapping[str, str], name: str) -> int | None:
    given = options.get(name)
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 10**12:
        raise Misconfigured(f"WAYPOST_PUBLISH: {name} must be a whole number from 1 on.")
    return int(given)
