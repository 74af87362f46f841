"""Ports: a taken one is noticed before anything starts, and said in one line."""

import errno
import socket

from waypost.kernel.errors import Misconfigured


def claim_port(host: str, port: int, option: str) -> int:
    """The port, once it is known to be free; any free one for 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise _refusal(error, host, port, option) from None
        return probe.getsockname()[1]


def _refusal(error: OSError, host: str, port: int, option: str) -> Misconfigured:
    if error.errno == errno.EADDRINUSE:
        return Misconfigured(f"Port {port} on {host} is taken: choose another with {option}.", code="port_taken")
    if error.errno == errno.EACCES:
        return Misconfigured(f"This user may not open port {port}: choose one above 1023 with {option}.")
    return Misconfigured(f"Nothing can listen on {host}: name an address of this machine with --host.")
