"""Which addresses a tenant may make us call: plainly public ones, and what the operator allows.

IPv6 is judged by what is allowed, not by what is not: only 2000::/3 without its special blocks. Everything that carries
an IPv4 address inside (mapped, compatible, NAT64, 6to4, Teredo), and all local, link, site and multicast ranges, lies
outside of that.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address

_NOT_PUBLIC_4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_PUBLIC_6: Final = IPv6Network("2000::/3")
_SPECIAL_6: Final = tuple(
    IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address.scope_id is None and address in _PUBLIC_6 and not any(address in one for one in _SPECIAL_6)


class Judgement:
    """`allowed` are the operator's own networks, as in `WAYPOST_OUTBOUND_ALLOW`."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(ip_network(network) for network in allowed)

    def allows(self, address: str) -> bool:
        try:
            read = ip_address(address)
        except ValueError:
            return False
        return is_public(read) or self._is_listed(read)

    def lists(self, address: str) -> bool:
        """Whether the operator has named it, which also means that plain HTTP to it is fine."""
        try:
            return self._is_listed(ip_address(address))
        except ValueError:
            return False

    def _is_listed(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self._allowed)
