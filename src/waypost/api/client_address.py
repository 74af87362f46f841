"""Whose request it is, for limits: the peer's address, or what a trusted proxy says about it."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from litestar.types import HTTPScope

_UNKNOWN: Final = "unknown"
_SIXTY_FOUR: Final = 64
_FORWARDED: Final = b"x-forwarded-for"


class Origin:
    """An IPv4 address, or an IPv6 /64: one customer usually has a whole one.

    `X-Forwarded-For` is believed only from trusted proxies, read from the right, up to the first address that is none.
    """

    def __init__(self, trusted_proxies: Sequence[str] = ()) -> None:
        self._trusted: tuple[IPv4Network | IPv6Network, ...] = tuple(ip_network(text) for text in trusted_proxies)

    def of(self, scope: HTTPScope) -> str:
        peer = scope["client"]
        if peer is None:
            return _UNKNOWN
        if not self._trusted:
            return _group(peer[0])
        address = peer[0]
        for told in self._told(scope):
            if not self._trusts(address):
                break
            address = told
        return _group(address)

    def _told(self, scope: HTTPScope) -> list[str]:
        lines = [value.decode("latin-1") for name, value in scope["headers"] if name == _FORWARDED]
        return [part.strip() for part in reversed(",".join(lines).split(",")) if part.strip()]

    def _trusts(self, text: str) -> bool:
        address = _read(text)
        return address is not None and any(address in network for network in self._trusted)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _group(text: str) -> str:
    if ":" not in text:
        return text[:64]
    address = _read(text)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address) >> _SIXTY_FOUR << _SIXTY_FOUR, _SIXTY_FOUR)))
    return str(address or text[:64])
