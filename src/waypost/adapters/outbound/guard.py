"""Resolves a name, judges every address it has, and hands out only addresses that were judged.

Whoever connects to what `addresses` answers, and to nothing else, cannot be led astray by a name that answers
differently the second time. `connect` does so for plain TCP; `http.py` for HTTP.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Final

from waypost.adapters.outbound.judgement import Judgement

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
_RESOLVE_SECONDS: Final = 5.0
_MOST_ADDRESSES: Final = 32
_LONGEST_NAME: Final = 253


class Refusal(StrEnum):
    PRIVATE = "private_address"
    UNRESOLVABLE = "unresolvable"


class OutboundRefused(Exception):
    """The guard let nothing out. Says why, and never what the name stands for."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


async def ask_the_system(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    def __init__(self, judgement: Judgement, resolve: Resolve = ask_the_system) -> None:
        self._judgement = judgement
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """All addresses of the name, where every single one may be called. Raises `OutboundRefused`."""
        bare = host.strip("[]").rstrip(".")
        if not bare or len(bare) > _LONGEST_NAME or not bare.isascii() or not bare.isprintable() or " " in bare:
            raise OutboundRefused(Refusal.UNRESOLVABLE)
        try:
            async with asyncio.timeout(_RESOLVE_SECONDS):
                found = await self._resolve(bare, port)
        except (OSError, TimeoutError, UnicodeError):
            raise OutboundRefused(Refusal.UNRESOLVABLE) from None
        if not found or len(found) > _MOST_ADDRESSES:
            raise OutboundRefused(Refusal.UNRESOLVABLE)
        if not all(self._judgement.allows(address) for address in found):
            raise OutboundRefused(Refusal.PRIVATE)
        return found

    async def is_operators(self, host: str, port: int) -> bool:
        """Whether the name leads only to networks that the operator has named."""
        return all(self._judgement.lists(address) for address in await self.addresses(host, port))

    async def connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A plain TCP connection to the first judged address that answers. Time limits are the caller's."""
        failure: OSError | None = None
        for address in await self.addresses(host, port):
            try:
                return await asyncio.open_connection(address, port)
            except OSError as error:
                failure = error
        raise failure or OSError("no address")
