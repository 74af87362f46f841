"""What it takes to open a way out: a mail server and how to enter it, or an account of Gmail's API."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from waypost.kernel.errors import FieldError, Refused
from waypost.senders.service_account import ServiceAccountUnreadable, read_service_account

LONGEST_SECRET: Final = 16_384
MOST_CONNECTIONS: Final = 100
MOST_MESSAGES_PER_CONNECTION: Final = 10_000
_HIGHEST_PORT: Final = 65_535
_LONGEST_USERNAME: Final = 320
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST: Final = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}(?:\.{_LABEL})*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\Z")
_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}(?:\.{_LABEL})+|\[[A-Za-z0-9.:]{{2,60}}\])\Z")
_MAILBOX: Final = re.compile(r"[!-?A-~]{1,64}@[A-Za-z0-9.-]{1,253}\Z")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LOOPBACK: Final = re.compile(r"(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)\Z", re.IGNORECASE)


class AccountKind(StrEnum):
    SMTP = "smtp"
    GMAIL = "gmail"


class TlsMode(StrEnum):
    REQUIRED = "required"
    """By STARTTLS with a certificate of the host's own, or nothing is sent."""
    OPPORTUNISTIC = "opportunistic"
    """By STARTTLS where the server offers it; a password still goes only over a checked line."""
    OFF = "off"
    IMPLICIT = "implicit"
    """From the first byte, usually on port 465."""


class AuthMode(StrEnum):
    NONE = "none"
    PLAIN = "plain"
    LOGIN = "login"
    XOAUTH2 = "xoauth2"
    """The secret is a bearer token, or a service account's key file with which tokens are fetched as they expire."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountConnection:
    """`kind` decides which fields have a meaning; the others stay at their defaults."""

    kind: AccountKind
    host: str = ""
    port: int = 0
    """0: 465 with implicit TLS, else 587."""
    tls: TlsMode = TlsMode.REQUIRED
    auth: AuthMode = AuthMode.NONE
    username: str = ""
    secret: str = field(default="", repr=False)
    """A password, a bearer token, or the JSON of a service account's key file."""
    subject: str = ""
    """The mailbox a service account acts for."""
    helo_name: str = ""
    """What we call ourselves; empty: the installation's own name."""
    max_connections: int = 10
    messages_per_connection: int = 100

    @property
    def port_or_default(self) -> int:
        return self.port or (465 if self.tls is TlsMode.IMPLICIT else 587)

    @property
    def is_loopback(self) -> bool:
        """This host itself, where a secret needs no encryption."""
        return self.kind is AccountKind.SMTP and _LOOPBACK.match(self.host) is not None

    @property
    def mints_tokens(self) -> bool:
        """Whether the secret is a service account's key file."""
        return self.kind is AccountKind.GMAIL or (
            self.auth is AuthMode.XOAUTH2 and self.secret.lstrip().startswith("{")
        )


def refuse_unusable(connection: AccountConnection, *, pointer: str = "") -> None:
    """Raises `Refused` with everything that is wrong, each field by its name below `pointer`."""
    if faults := list(faults_of(connection, pointer=pointer)):
        raise Refused(faults[0].message, code=faults[0].code, errors=faults)


def faults_of(connection: AccountConnection, *, pointer: str = "") -> Iterator[FieldError]:
    for name, code, message in _faults(connection):
        yield FieldError(pointer=f"{pointer}/{name}", code=code, message=message)


_Fault = tuple[str, str, str]


def _faults(connection: AccountConnection) -> Iterator[_Fault]:
    if len(connection.secret) > LONGEST_SECRET:
        yield "secret", "too_long", f"A secret has at most {LONGEST_SECRET} characters."
    elif connection.kind is AccountKind.GMAIL:
        yield from _faults_of_gmail(connection)
    else:
        yield from _faults_of_server(connection)
        yield from _faults_of_entry(connection)
    if not 1 <= connection.max_connections <= MOST_CONNECTIONS:
        yield "max_connections", "out_of_range", f"From 1 to {MOST_CONNECTIONS} connections."
    if not 1 <= connection.messages_per_connection <= MOST_MESSAGES_PER_CONNECTION:
        yield (
            "messages_per_connection",
            "out_of_range",
            f"From 1 to {MOST_MESSAGES_PER_CONNECTION} messages over one connection.",
        )


def _faults_of_gmail(connection: AccountConnection) -> Iterator[_Fault]:
    for name in ("host", "username", "helo_name"):
        if getattr(connection, name):
            yield name, "not_taken", "Gmail's API takes no such field; leave it out."
    if connection.port:
        yield "port", "not_taken", "Gmail's API takes no such field; leave it out."
    if connection.auth is not AuthMode.NONE:
        yield "auth", "not_taken", "Gmail's API is entered with the service account alone; leave `auth` out."
    yield from _fault_of_subject(connection, needed=True)
    yield from _fault_of_key_file(connection)


def _faults_of_server(connection: AccountConnection) -> Iterator[_Fault]:
    if not _HOST.match(connection.host):
        yield "host", "invalid_host", "Name the mail server, as `smtp.example.com`, without port or scheme."
    if not 0 <= connection.port <= _HIGHEST_PORT:
        yield "port", "out_of_range", f"A port is a number from 1 to {_HIGHEST_PORT}."
    if connection.helo_name and not _NAME.match(connection.helo_name):
        yield "helo_name", "invalid_host", "A full name of a host, as `mail.example.com`."


def _faults_of_entry(connection: AccountConnection) -> Iterator[_Fault]:
    if connection.auth is AuthMode.NONE:
        for name in ("username", "secret", "subject"):
            if getattr(connection, name):
                yield name, "not_taken", "Choose how to authenticate (`auth`), or leave this out."
        return
    if not connection.username:
        yield "username", "required", "Authentication needs a user's name."
    elif len(connection.username) > _LONGEST_USERNAME or _CONTROL.search(connection.username):
        yield (
            "username",
            "invalid",
            f"A user's name has at most {_LONGEST_USERNAME} characters, and no control characters.",
        )
    if connection.tls is TlsMode.OFF and not connection.is_loopback:
        yield "tls", "password_in_the_clear", "A secret goes only over an encrypted line: choose another `tls`."
    if connection.mints_tokens:
        yield from _fault_of_subject(connection, needed=False)
        yield from _fault_of_key_file(connection)
        return
    if connection.subject:
        yield "subject", "not_taken", "Only a service account acts for somebody; leave this out."
    if not connection.secret:
        yield "secret", "required", "Authentication needs a secret."
    elif _CONTROL.search(connection.secret):
        yield "secret", "invalid", "This secret cannot hold line breaks or other control characters."


def _fault_of_subject(connection: AccountConnection, *, needed: bool) -> Iterator[_Fault]:
    if not connection.subject:
        if needed:
            yield "subject", "required", "Name the mailbox that the service account sends for."
    elif not _MAILBOX.match(connection.subject):
        yield "subject", "invalid_address", "Write the mailbox as `name@example.com`."


def _fault_of_key_file(connection: AccountConnection) -> Iterator[_Fault]:
    if not connection.secret:
        yield "secret", "required", "Paste the service account's key file, the JSON that Google gave out."
        return
    try:
        read_service_account(connection.secret)
    except ServiceAccountUnreadable as unreadable:
        yield "secret", "invalid_service_account", unreadable.remedy
