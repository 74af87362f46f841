"""The operator's certificate, read again when its file has changed: they are renewed while we run."""

import ssl
from pathlib import Path
from typing import Final

import structlog

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured

_log: Final = structlog.stdlib.get_logger("waypost.smtp")
_LOOK_AGAIN_SECONDS: Final = 60.0


class Certificate:
    def __init__(self, chain: Path, key: Path | None, clock: Clock) -> None:
        self._chain = chain
        self._key = key
        self._clock = clock
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._looked = clock.monotonic()
        self._written = self._when_written()
        try:
            self._context.load_cert_chain(chain, key)
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured(
                f"The certificate {chain} and its key cannot be used: {error.strerror or 'they do not fit'}."
            ) from None

    def context(self) -> ssl.SSLContext:
        now = self._clock.monotonic()
        if now - self._looked >= _LOOK_AGAIN_SECONDS:
            self._looked = now
            written = self._when_written()
            if written != self._written:
                self._written = written
                self._renew()
        return self._context

    def _renew(self) -> None:
        try:
            self._context.load_cert_chain(self._chain, self._key)
        except (OSError, ssl.SSLError):
            _log.error("certificate not renewed", action="smtp_certificate_unread")

    def _when_written(self) -> tuple[int, ...]:
        try:
            return tuple(path.stat().st_mtime_ns for path in (self._chain, self._key) if path is not None)
        except OSError:
            return ()
