"""Ports: taken ones are noticed before anything starts."""

import dataclasses
import errno
import socket
from typing import Final

from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings

LOOPBACK: Final = "127.0.0.1"


def claim_ports(settings: Settings) -> Settings:
    """The settings with real ports in place of 0. The metrics' ports give way unless somebody chose them."""
    port = claim_port(settings.host, settings.port, "--port")
    chosen = dataclasses.replace(settings, port=port)
    return dataclasses.replace(
        chosen,
        metrics_port=_beside(chosen.metrics_host, chosen.api_metrics_port, settings.metrics_port, "--metrics-port"),
        worker_metrics_port=_beside(
            chosen.metrics_host, chosen.worker_port, settings.worker_metrics_port, "--worker-metrics-port"
        ),
        catchall_port=claim_port(LOOPBACK, settings.catchall_port, "--catchall-port"),
    )


def _beside(host: str, port: int, asked: int | None, option: str) -> int:
    try:
        return claim_port(host, port, option)
    except Misconfigured:
        if asked is not None:
            raise
        return claim_port(host, 0, option)


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
