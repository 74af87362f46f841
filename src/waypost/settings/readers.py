"""How the text of a setting becomes its value. A reader says what would be acceptable, never what it was given."""

import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

HIGHEST_PORT: Final = 65_535
_MOST_PROCESSES: Final = 256
_LABEL: Final = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")
_MAIL_ADDRESS: Final = re.compile(r"(?:[^<>\"\\,;:@]{1,100} <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)")
_NAME_SERVER: Final = re.compile(
    r"\[(?P<host6>[0-9a-fA-F:]+)\](?::(?P<port6>[0-9]{1,5}))?|"
    r"(?P<host>[0-9.]+(?=[:]|\Z)|[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*)(?::(?P<port>[0-9]{1,5}))?"
)
_DURATION: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s|m|h)?")
_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Secret:
    """A value that is shown only to those who ask by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def text(value: str) -> str:
    if any(ord(character) < 32 for character in value):
        raise ValueError("must not hold control characters")
    return value


def secret(value: str) -> Secret:
    return Secret(text(value))


def path(value: str) -> Path:
    return Path(value).expanduser().absolute()


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", value) or not least <= int(value) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(value)

    return read


port = whole(0, HIGHEST_PORT)


def processes(value: str) -> str:
    if value.lower() != "auto" and not (re.fullmatch(r"[0-9]{1,3}", value) and 1 <= int(value) <= _MOST_PROCESSES):
        raise ValueError(f"must be `auto` or a whole number from 1 to {_MOST_PROCESSES}")
    return value.lower()


def seconds(least: float, most: float) -> Callable[[str], float]:
    def read(value: str) -> float:
        match = _DURATION.fullmatch(value)
        duration = float(match[1]) * _UNITS[match[2] or ""] if match else -1.0
        if not least <= duration <= most:
            raise ValueError(f"must be a duration like 30s or 2m, from {least:g} to {most:g} seconds")
        return duration

    return read


def choice(*words: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value.lower() not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return value.lower()

    return read


def domain(value: str) -> str:
    if not _DOMAIN.fullmatch(value):
        raise ValueError("must be a domain name in lower-case ASCII")
    return value


def mail_address(value: str) -> str:
    if not _MAIL_ADDRESS.fullmatch(text(value)):
        raise ValueError("must be an address, or a name with an address in angle brackets")
    return value


def networks(value: str) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(one.strip())) for one in value.split(",") if one.strip())
    except ValueError:
        raise ValueError("must be networks like 10.0.0.0/8, separated by commas") from None


def name_servers(value: str) -> tuple[str, ...]:
    return tuple(_name_server(one.strip()) for one in value.split(",") if one.strip())


def _name_server(value: str) -> str:
    match = _NAME_SERVER.fullmatch(value)
    try:
        if match is None or not 1 <= int(match["port"] or match["port6"] or 53) <= HIGHEST_PORT:
            raise ValueError
        ip_address(match["host"] or match["host6"])
    except ValueError:
        raise ValueError("must be addresses like 192.0.2.1 or 192.0.2.1:5353, separated by commas") from None
    return value


def web_url(value: str) -> str:
    return _url(value, "http", "https").rstrip("/")


def database_url(value: str) -> Secret:
    return Secret(_url(value, "postgresql", "postgres"))


def broker_urls(value: str) -> Secret:
    for one in value.split(","):
        _url(one.strip(), "nats", "tls", "redis", "rediss")
    return Secret(value)


def redis_url(value: str) -> Secret:
    return Secret(_url(value, "redis", "rediss"))


def mail_url(value: str) -> Secret:
    return Secret(_url(value, "smtp", "smtps"))


def _url(value: str, *schemes: str) -> str:
    try:
        parts = urlsplit(text(value))
        readable = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("must be a URL with a port from 1 to 65535") from None
    by_socket = parts.scheme.startswith("postgres") and "host=" in parts.query
    if parts.scheme not in schemes or not (parts.hostname or by_socket) or not readable:
        raise ValueError(f"must be a URL that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    return value
