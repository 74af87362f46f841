"""Ports: taken ones are noticed before anything starts."""

import dataclasses
from typing import Final

from waypost.bootstrap.ports import claim_port
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
        live_port=_beside(chosen.host, chosen.api_live_port, settings.live_port, "--live-port"),
        catchall_port=claim_port(LOOPBACK, settings.catchall_port, "--catchall-port"),
        **_for_mail(settings, chosen),
    )


def _for_mail(settings: Settings, chosen: Settings) -> dict[str, int]:
    """Only where mail is taken."""
    if not settings.takes_mail:
        return {}
    metrics = _beside(
        chosen.metrics_host, chosen.smtp_metrics_port, settings.smtp_in_metrics_port, "--smtp-in-metrics-port"
    )
    claimed = {"smtp_in_metrics_port": metrics}
    if settings.smtp_in_port is not None:
        claimed["smtp_in_port"] = claim_port(settings.smtp_in_host, settings.smtp_in_port, "--smtp-in-port")
    if settings.smtp_in_tls_port is not None:
        claimed["smtp_in_tls_port"] = claim_port(settings.smtp_in_host, settings.smtp_in_tls_port, "--smtp-in-tls-port")
    return claimed


def _beside(host: str, port: int, asked: int | None, option: str) -> int:
    try:
        return claim_port(host, port, option)
    except Misconfigured:
        if asked is not None:
            raise
        return claim_port(host, 0, option)
