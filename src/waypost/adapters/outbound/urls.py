"""Which URLs may be called: https, to a public name, on a usual port, without credentials in them."""

import re
from enum import Enum
from typing import Final
from urllib.parse import SplitResult, urlsplit

from waypost.adapters.outbound.guard import Guard, OutboundRefused, Refusal
from waypost.outbox.ports import UrlFault
from waypost.outbox.webhook_model import CallFault

_PORTS: Final = {"https": 443, "http": 80}
_FIRST_FREE_PORT: Final = 1024
_NUMBERS: Final = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+))*\.?\Z", re.IGNORECASE)
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PLAIN_IPV4: Final = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}\Z")


class _Fault(Enum):
    INVALID = ("invalid_url", "Write a whole URL, as `https://example.com/hooks`.")
    CREDENTIALS = ("url_credentials", "Leave user and password out of the URL; calls are signed instead.")
    PORT = ("url_port", "Use port 443, or one from 1024 on.")
    HTTP = ("url_not_https", "Use https. Plain http is taken only where the operator allows it.")
    PRIVATE = ("url_private", "This leads to an address that is not public, and that the operator has not allowed.")
    UNRESOLVABLE = ("url_unresolvable", "There is no such host.")

    def raised(self) -> UrlFault:
        met = {_Fault.PRIVATE: CallFault.PRIVATE_ADDRESS, _Fault.UNRESOLVABLE: CallFault.UNRESOLVABLE}
        return UrlFault(*self.value, met.get(self, CallFault.REFUSED_URL))


class WebhookUrls:
    """Implements `outbox.ports.UrlCheck`."""

    def __init__(self, guard: Guard, *, plain_http: bool) -> None:
        self._guard = guard
        self._plain_http = plain_http

    async def check(self, url: str) -> None:
        parts = _split(url)
        port = parts.port or _PORTS[parts.scheme]
        try:
            operators = await self._guard.is_operators(parts.hostname or "", port)
        except OutboundRefused as refused:
            raise (_Fault.PRIVATE if refused.refusal is Refusal.PRIVATE else _Fault.UNRESOLVABLE).raised() from None
        if parts.scheme == "http" and not (self._plain_http or operators):
            raise _Fault.HTTP.raised()
        if port < _FIRST_FREE_PORT and port not in _PORTS.values() and not operators:
            raise _Fault.PORT.raised()


def _split(url: str) -> SplitResult:
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise _Fault.INVALID.raised()
    try:
        parts = urlsplit(url)
        odd = parts.port == 0
    except ValueError:
        raise _Fault.INVALID.raised() from None
    if parts.scheme not in _PORTS or not parts.hostname or odd or parts.fragment:
        raise _Fault.INVALID.raised()
    if "@" in parts.netloc:
        raise _Fault.CREDENTIALS.raised()
    if _NUMBERS.match(parts.hostname) and not _PLAIN_IPV4.match(parts.hostname):
        # 127.1, 0x7f000001, 2130706433: spellings that only some readers take for an address.
        raise _Fault.PRIVATE.raised()
    return parts
