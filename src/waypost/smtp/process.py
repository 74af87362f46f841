"""The process that takes mail, and its metrics on a port of their own."""

import asyncio
import gc
from ipaddress import ip_address

from prometheus_client import CollectorRegistry, start_http_server

from waypost.bootstrap.api import open_app
from waypost.bootstrap.ports import claim_port
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings
from waypost.smtp.certificate import Certificate
from waypost.smtp.limits import Limits
from waypost.smtp.metrics import SmtpMetrics
from waypost.smtp.server import SmtpServer


async def serve_until_stopped(settings: Settings, stop: asyncio.Event) -> None:
    certificate = certificate_of(settings)
    metrics_port = claim_port(settings.metrics_host, settings.smtp_metrics_port, "--smtp-in-metrics-port")
    registry = CollectorRegistry()
    async with open_app(settings, registry) as app:
        limits = Limits(
            mail_bytes=settings.smtp_in_bytes,
            recipients=settings.smtp_in_recipients,
            per_address=settings.smtp_in_connections,
        )
        server = SmtpServer(
            app,
            name=settings.message_domain,
            limits=limits,
            metrics=SmtpMetrics(registry),
            certificate=certificate,
        )
        if settings.smtp_in_port is not None:
            await server.start(settings.smtp_in_host, settings.smtp_in_port)
        if settings.smtp_in_tls_port is not None:
            await server.start(settings.smtp_in_host, settings.smtp_in_tls_port, secure=True)
        told, thread = start_http_server(metrics_port, settings.metrics_host, registry)
        gc.collect()
        gc.freeze()
        try:
            await stop.wait()
            await server.close(settings.drain)
        finally:
            told.shutdown()
            told.server_close()
            thread.join()


def certificate_of(settings: Settings) -> Certificate | None:
    """Refuses what could serve nobody: without TLS keys are taken on the loopback only."""
    if not settings.takes_mail:
        raise Misconfigured("Name a port on which mail is taken, with --smtp-in-port or --smtp-in-tls-port.")
    if settings.smtp_in_certificate is not None:
        return Certificate(settings.smtp_in_certificate, settings.smtp_in_key, SystemClock())
    if settings.smtp_in_tls_port is not None or not _is_loopback(settings.smtp_in_host):
        raise Misconfigured(
            "Without TLS keys are taken from this machine only: set WAYPOST_SMTP_IN_CERTIFICATE, or listen on loopback."
        )
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
