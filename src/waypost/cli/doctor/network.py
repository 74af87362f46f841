"""Checks of what is reached over the network: the API and the mail servers."""

import asyncio
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from waypost.cli.doctor.findings import Finding, fail, ok, warn
from waypost.client import ApiError, Client, NoAnswerError
from waypost.kernel.clock import SystemClock
from waypost.settings import Settings

_PATIENCE_SECONDS: Final = 5.0
_SMTP_PORT: Final = 25
_SMTPS_PORT: Final = 465
_SOON_DAYS: Final = 14
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 — read, not bound


async def check_api(settings: Settings) -> list[Finding]:
    if settings.url is None or settings.api_key is None:
        return [warn("API", "No URL and key are known here.", "Set WAYPOST_URL and WAYPOST_API_KEY, or --data-dir.")]
    async with Client(settings.url, settings.api_key.reveal(), tries=1) as client:
        if not await client.ready():
            return [fail("API", f"{settings.url} is not ready.", "Start `waypost up` or `waypost api`; see its log.")]
        try:
            async for _ in client.notifications.list(page_size=1):
                break
        except (ApiError, NoAnswerError) as refusal:
            remedy = "Take the key from dev.env, or make one with `waypost keys create`."
            return [fail("API", f"{settings.url} refuses the key: {refusal}", remedy)]
    return [ok("API", f"{settings.url} is ready and knows the key.")]


async def check_mail(settings: Settings, running: Mapping[str, object]) -> list[Finding]:
    findings: list[Finding] = []
    port = running.get("catchall_port")
    if isinstance(port, int) and port:
        greeted = await _greeting("127.0.0.1", port)
        findings.append(
            ok("catch-all", f"Answers on port {port}.")
            if greeted
            else fail("catch-all", f"Does not answer on port {port}.", "Restart `waypost up`.")
        )
    findings += await _check_submission(settings, running)
    if settings.smtp_url is None:
        if not any(finding.check == "catch-all" for finding in findings):
            remedy = "Set WAYPOST_SMTP_URL to send for real, or run `waypost up` for a catch-all."
            findings.append(warn("mail server", "None is configured and no catch-all runs.", remedy))
        return findings
    parts = urlsplit(settings.smtp_url.reveal())
    secure = parts.scheme == "smtps"
    port = parts.port or (_SMTPS_PORT if secure else _SMTP_PORT)
    host = parts.hostname or ""
    if await _greeting(host, port, secure=secure):
        findings.append(ok("mail server", f"{host}:{port} answers."))
    else:
        remedy = "Check WAYPOST_SMTP_URL, the server, and the firewall between."
        findings.append(fail("mail server", f"{host}:{port} does not greet.", remedy))
    return findings


async def _check_submission(settings: Settings, running: Mapping[str, object]) -> list[Finding]:
    """Whether mail is taken where it should be, and how long its certificate is still good for."""
    found = running.get("smtp_in_port")
    port = found if isinstance(found, int) else settings.smtp_in_port
    findings: list[Finding] = []
    for at, secure in ((port, False), (settings.smtp_in_tls_port, True)):
        if at:
            host = _ANYWHERE.get(settings.smtp_in_host, settings.smtp_in_host)
            greeted = await _greeting(host, at, secure=secure, verified=False)
            findings.append(
                ok("SMTP in", f"Answers on port {at}.")
                if greeted
                else fail("SMTP in", f"Does not answer on port {at}.", "Start `waypost smtp`; see its log.")
            )
    if settings.smtp_in_certificate is not None:
        findings.append(_check_certificate(settings.smtp_in_certificate))
    return findings


def _check_certificate(path: Path) -> Finding:
    from cryptography import x509

    try:
        days = (x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc - SystemClock().now()).days
    except (OSError, ValueError):
        return fail("SMTP in", f"{path} holds no certificate.", "Name a PEM file in WAYPOST_SMTP_IN_CERTIFICATE.")
    if days < 0:
        return fail("SMTP in", "The certificate has run out.", "Renew it; it is read again within a minute.")
    if days < _SOON_DAYS:
        return warn("SMTP in", f"The certificate runs out in {days} days.", "Renew it; it is read again by itself.")
    return ok("SMTP in", f"The certificate is good for {days} days.")


async def _greeting(host: str, port: int, *, secure: bool = False, verified: bool = True) -> bool:
    """A certificate of our own is looked at elsewhere: it need not be one of this host's name."""
    context = ssl.create_default_context() if secure else None
    if context is not None and not verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=context, limit=4096)
            try:
                return re.match(rb"220[ -]", await reader.readline()) is not None
            finally:
                writer.write(b"QUIT\r\n")
                writer.close()
    except (OSError, TimeoutError, ValueError):
        return False
