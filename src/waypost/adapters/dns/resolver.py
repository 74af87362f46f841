"""DNS by dnspython, asked of the operator's resolvers. What cannot be relied on is told apart from what is not there.

The library is imported with the first question: most processes never ask one.
"""

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from waypost.domains.ports import DnsAnswer, Seen

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver
    from dns.resolver import Answer

PORT: Final = 53
QUESTION_SECONDS: Final = 2.0
"""For one server to answer."""
PATIENCE_SECONDS: Final = 5.0
"""For all of them together."""
MOST_RECORDS: Final = 60
LONGEST_TEXT: Final = 4_096
MOST_ALIASES: Final = 8
MOST_AT_ONCE: Final = 32
_UNKNOWN: Final = DnsAnswer(seen=Seen.UNKNOWN)
_ABSENT: Final = DnsAnswer(seen=Seen.ABSENT)


def read_server(text: str) -> tuple[str, int]:
    """`192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`."""
    host, port = text.strip(), ""
    if host.startswith("["):
        host, _, port = host[1:].partition("]")
        port = port.removeprefix(":")
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    return str(ip_address(host)), int(port or PORT)


class DnsResolver:
    """Implements `domains.ports.Dns`. `servers` empty: those that the host is configured with."""

    def __init__(
        self, servers: Sequence[str] = (), *, question: float = QUESTION_SECONDS, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._servers = tuple(read_server(server) for server in servers)
        self._question = question
        self._patience = patience
        self._resolver: Resolver | None = None
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def txt(self, name: str) -> DnsAnswer:
        return await self._ask(name, "TXT", lambda record: b"".join(record.strings).decode("utf-8", "replace"))

    async def mx(self, name: str) -> DnsAnswer:
        return await self._ask(name, "MX", lambda record: _spell(record.exchange), lambda record: record.preference)

    async def cname(self, name: str) -> DnsAnswer:
        return await self._ask(name, "CNAME", lambda record: _spell(record.target))

    async def _ask(
        self,
        name: str,
        kind: str,
        spell: Callable[[Any], str],
        rank: Callable[[Any], int] | None = None,
    ) -> DnsAnswer:
        from dns.exception import DNSException
        from dns.resolver import NXDOMAIN, NoAnswer

        try:
            async with self._places, asyncio.timeout(self._patience + self._question):
                answer = await self._resolve(name, kind)
        except (NXDOMAIN, NoAnswer):
            return _ABSENT
        except (DNSException, OSError, TimeoutError, ValueError):
            # No answer in time, SERVFAIL, REFUSED, a name that loops, answers that make no sense, a host that knows no
            # name server: nobody has said no.
            return _UNKNOWN
        aliases = len(answer.chaining_result.cnames)
        records = list(answer)
        if aliases > MOST_ALIASES or len(records) > MOST_RECORDS:
            return _UNKNOWN
        values = [spell(record) for record in (sorted(records, key=rank) if rank else records)]
        kept = tuple(value for value in values if len(value) <= LONGEST_TEXT)
        return DnsAnswer(seen=Seen.FOUND, values=kept) if kept else _ABSENT

    async def _resolve(self, name: str, kind: str) -> "Answer":
        import dns.name

        return await self._opened().resolve(dns.name.from_text(f"{name}."), kind, search=False, lifetime=self._patience)

    def _opened(self) -> "Resolver":
        if self._resolver is None:
            from dns.asyncresolver import Resolver
            from dns.nameserver import Do53Nameserver

            resolver = Resolver(configure=not self._servers)
            if self._servers:
                resolver.nameservers = [Do53Nameserver(address, port) for address, port in self._servers]
            resolver.timeout = self._question
            resolver.retry_servfail = False
            resolver.cache = None
            resolver.use_edns(0, 0, 1232)
            self._resolver = resolver
        return self._resolver


def _spell(name: Any) -> str:
    return name.to_text(omit_final_dot=True).lower()
