"""Database URLs: the administrator's is given, those of the other roles are made from it."""

from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from waypost.kernel.errors import Misconfigured


def for_role(dsn: str, role: str, password: str) -> str:
    """The same server and database, as another role."""
    parts = _read(dsn)
    hosts = parts.netloc.rpartition("@")[2]
    login = f"{quote(role, safe='')}:{quote(password, safe='')}@"
    # A user or password may also stand in the query, where it would win.
    query = [(key, value) for key, value in parse_qsl(parts.query) if key not in ("user", "password")]
    return urlunsplit(parts._replace(netloc=login + hosts, query=urlencode(query, quote_via=quote)))


def for_database(dsn: str, database: str) -> str:
    parts = _read(dsn)
    query = [(key, value) for key, value in parse_qsl(parts.query) if key not in ("dbname", "database")]
    return urlunsplit(parts._replace(path=f"/{quote(database, safe='')}", query=urlencode(query, quote_via=quote)))


def _read(dsn: str):
    parts = urlsplit(dsn)
    if parts.scheme not in ("postgresql", "postgres"):
        raise Misconfigured("WAYPOST_DATABASE_URL must begin with postgresql://.")
    return parts
