"""How to reach a mail server and enter it."""

import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from waypost.channels.model import Outcome
from waypost.kernel.errors import Misconfigured

_HOST: Final = re.compile(r"[A-Za-z0-9._:%-]{1,253}\Z")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[A-Za-z0-9.:]{2,60}\])\Z")
_DEFAULT_PORTS: Final = {"smtp": 25, "smtps": 465}


class Tls(StrEnum):
    IMPLICIT = "implicit"
    """From the first byte (`smtps://`)."""
    REQUIRED = "required"
    """By STARTTLS, or nothing is sent. The certificate must be the host's."""
    OPPORTUNISTIC = "opportunistic"
    """By STARTTLS where the server offers it. Certificates are checked only where a password follows: the mail itself
    would else go in the clear."""
    OFF = "off"


class Mechanism(StrEnum):
    """How to authenticate."""

    ANY = "any"
    """By password: PLAIN where it is offered, else LOGIN."""
    PLAIN = "PLAIN"
    LOGIN = "LOGIN"
    XOAUTH2 = "XOAUTH2"


class Tokens(Protocol):
    """Where the bearer tokens of XOAUTH2 come from."""

    async def token(self, *, not_this: str | None = None) -> str:
        """One that is good for a while. `not_this` has been refused: another, where there can be another. Raises
        `NoToken`."""
        ...


class NoToken(Exception):
    """There is none. `outcome` is what that means for a message."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    username: str
    password: str = field(default="", repr=False)
    mechanism: Mechanism = Mechanism.ANY
    tokens: Tokens | None = field(default=None, repr=False)
    """Of XOAUTH2; without it the password is the token."""


class TargetRefused(Exception):
    """This server may not be called, or there is none of that name."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


Dial = Callable[[str, int], Awaitable[Sequence[str]]]
"""Which addresses stand for a host: those, and no others, are called. Raises `TargetRefused`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """Seconds. The defaults are those of RFC 5321, section 4.5.3.2."""

    connect: float = 60
    greeting: float = 300
    command: float = 300
    data: float = 120
    block: float = 180
    final: float = 600
    idle: float = 30
    """How long an unused connection is kept."""
    closing: float = 5
    """How long `close` waits for answers to what is on the wire."""
    tick: float = 1
    """How often a connection looks at the clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SmtpOptions:
    host: str
    port: int
    tls: Tls
    credentials: Credentials | None = None
    verify: bool = True
    """Whether the server's certificate must be valid for `host`."""
    ca_file: str | None = None
    plain_auth: bool = False
    """The operator's word that the password may go over a connection that is not encrypted."""
    name: str = ""
    """What we call ourselves in EHLO; empty: this host's own full name, else its address."""
    connections: int = 20
    messages_per_connection: int = 1_000
    timeouts: Timeouts = field(default_factory=Timeouts)

    @property
    def checks_certificate(self) -> bool:
        """Opportunistic TLS takes any, as it would take none at all; but a password goes only to whom it belongs."""
        return self.verify and (self.tls is not Tls.OPPORTUNISTIC or self.credentials is not None)


def smtp_options(
    url: str,
    *,
    name: str = "",
    connections: int = 20,
    messages_per_connection: int = 1_000,
    timeouts: Timeouts | None = None,
) -> SmtpOptions:
    """Reads `smtp://user:password@host:port?tls=required` or `smtps://…`. Raises `Misconfigured` without repeating it.

    `tls`: required, opportunistic or off; without it, required where there is a password, else opportunistic.
    `verify=no`, `ca_file=/path`, `plain_auth=yes`, `name=mail.example.com`.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise _misconfigured("it cannot be read; write smtp://user:password@host:port") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise _misconfigured("it must begin with smtp:// or smtps://")
    if not _HOST.match(host):
        raise _misconfigured("it names no host")
    if parts.path not in ("", "/") or parts.fragment:
        raise _misconfigured("there is something between the port and the question mark")
    credentials = _credentials(parts.username, parts.password)
    options = SmtpOptions(
        host=host,
        port=_DEFAULT_PORTS[parts.scheme] if port is None else port,
        tls=_tls(parts.scheme, given.pop("tls", None), credentials),
        credentials=credentials,
        verify=_yes_or_no(given, "verify", default=True),
        ca_file=given.pop("ca_file", None) or None,
        plain_auth=_yes_or_no(given, "plain_auth", default=False),
        name=_own_name(given.pop("name", name)),
        connections=connections,
        messages_per_connection=messages_per_connection,
        timeouts=timeouts or Timeouts(),
    )
    if given:
        raise _misconfigured("after the question mark only tls, verify, ca_file, plain_auth and name have a meaning")
    if credentials is not None and options.tls is Tls.OFF and not options.plain_auth:
        raise _misconfigured("a password would go over an open line; use TLS, or add plain_auth=yes if you mean it")
    return options


def own_name(local_address: str, get_hostname: Callable[[], str] = socket.gethostname) -> str:
    """A name that means something to the other side: this host's where it is a full one, else an address literal."""
    hostname = get_hostname()
    if "." in hostname and _NAME.match(hostname):
        return hostname
    return f"[IPv6:{local_address}]" if ":" in local_address else f"[{local_address}]"


def _credentials(username: str | None, password: str | None) -> Credentials | None:
    if username is None and password is None:
        return None
    if not username or password is None:
        raise _misconfigured("it has a user without a password, or a password without a user")
    plain = Credentials(username=unquote(username), password=unquote(password))
    if "\x00" in plain.username + plain.password:
        raise _misconfigured("neither user nor password can hold a NUL")
    return plain


def _tls(scheme: str, word: str | None, credentials: Credentials | None) -> Tls:
    if scheme == "smtps":
        if word is not None:
            raise _misconfigured("smtps:// is TLS from the first byte; leave tls= out")
        return Tls.IMPLICIT
    if word is None:
        return Tls.OPPORTUNISTIC if credentials is None else Tls.REQUIRED
    if word not in (Tls.REQUIRED, Tls.OPPORTUNISTIC, Tls.OFF):
        raise _misconfigured("tls= is required, opportunistic or off")
    return Tls(word)


def _yes_or_no(given: dict[str, str], key: str, *, default: bool) -> bool:
    word = given.pop(key, None)
    if word is None:
        return default
    if word not in ("yes", "no"):
        raise _misconfigured(f"{key}= is yes or no")
    return word == "yes"


def _own_name(name: str) -> str:
    if name and not _NAME.match(name):
        raise _misconfigured("name= is a host's full name")
    return name


def _misconfigured(why: str) -> Misconfigured:
    return Misconfigured(f"The SMTP URL cannot be used: {why}.", code="smtp_url")
