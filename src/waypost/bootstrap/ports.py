"""Ports: a taken one is noticed before anything starts, and said in one line."""

import errno
import random
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

from waypost.kernel.errors import Misconfigured

_LOWEST: Final = 10_240
_TRIES: Final = 64
_OUTGOING: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def claim_port(host: str, port: int, option: str) -> int:
    """The port, once it is known to be free; any free one for 0."""
    try:
        if port == 0:
            return _any_port(host)
        return _bind(host, port)
    except OSError as error:
        raise _refusal(error, host, port, option) from None


def _any_port(host: str) -> int:
    """Below those that the system lends to outgoing connections: whoever opens it comes a moment later."""
    lasting = range(_LOWEST, _first_outgoing())
    for port in random.sample(lasting, k=min(_TRIES, len(lasting))):
        try:
            return _bind(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _bind(host, 0)


def _first_outgoing() -> int:
    with suppress(OSError, ValueError):
        return int(_OUTGOING.read_text().split()[0])
    return 32_768


def _bind(host: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return probe.getsockname()[1]


def _refusal(error: OSError, host: str, port: int, option: str) -> Misconfigured:
    if error.errno == errno.EADDRINUSE:
        return Misconfigured(f"Port {port} on {host} is taken: choose another with {option}.", code="port_taken")
    if error.errno == errno.EACCES:
        return Misconfigured(f"This user may not open port {port}: choose one above 1023 with {option}.")
    return Misconfigured(f"Nothing can listen on {host}: name an address of this machine with --host.")
