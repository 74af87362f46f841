"""Roles, schema and grants, made by the database's administrator. Safe to repeat and to run twice at once."""

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Final

import asyncpg

from waypost.adapters.postgres.connection import Connection, connect
from waypost.adapters.postgres.queries import load
from waypost.kernel.errors import Misconfigured

OWNER: Final = "waypost_owner"
API: Final = "waypost_api"
WORKER: Final = "waypost_worker"
DBA: Final = "waypost_dba"
LOGIN_ROLES: Final = (OWNER, API, WORKER, DBA)

_SQL: Final = load("provision")
_SCRAM_ITERATIONS: Final = 4096
_TRIES: Final = 5
# Roles belong to the whole server but locks to one database, so provisioning two databases at once can collide.
_COLLISIONS: Final = (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError, asyncpg.InternalServerError)


async def provision(admin_dsn: str, passwords: Mapping[str, str], *, replace_passwords: bool = False) -> None:
    """Makes the roles and the schema `waypost` in the database of the URL.

    `passwords` names every role of LOGIN_ROLES. Roles that already carry another installation's passwords are left
    alone and refused, unless `replace_passwords`.
    """
    connection = await connect(admin_dsn, application_name="waypost provision")
    try:
        for attempt in range(_TRIES):
            try:
                async with connection.transaction():
                    await _provision(connection, passwords, replace_passwords=replace_passwords)
                return
            except _COLLISIONS:
                if attempt == _TRIES - 1:
                    raise
    except asyncpg.InsufficientPrivilegeError as error:
        raise Misconfigured(
            "The database administrator needs the right to create roles (CREATEROLE) and must own the database.",
            code="database_administrator",
        ) from error
    finally:
        await connection.close()


async def _provision(connection: Connection, passwords: Mapping[str, str], *, replace_passwords: bool) -> None:
    await connection.execute(_SQL["lock"])
    marked = await connection.fetchval(_SQL["fingerprint"])
    ours = _fingerprint(passwords)
    await connection.execute(_SQL["roles"])
    if marked != ours:
        if marked and not replace_passwords:
            raise Misconfigured(
                "The roles of this database server carry the passwords of another Waypost installation (another master "
                "key). Use that master key, or a server of its own.",
                code="foreign_installation",
            )
        await connection.execute(_SQL["mark"], ours)
        verifiers = [scram_verifier(passwords[role]) for role in LOGIN_ROLES]
        await connection.execute(_SQL["remember"], list(LOGIN_ROLES), verifiers)
        await connection.execute(_SQL["passwords"])
    await connection.execute(_SQL["database"])


def _fingerprint(passwords: Mapping[str, str]) -> str:
    """Tells installations apart and gives nothing away: the passwords have the strength of keys."""
    material = "\n".join(passwords[role] for role in LOGIN_ROLES).encode()
    return "waypost " + hmac.digest(material, b"waypost role passwords", "sha256").hex()[:32]


def scram_verifier(password: str, salt: bytes | None = None) -> str:
    """What PostgreSQL stores for a password (RFC 5802), so that the password itself never travels to the server."""
    salt = salt or os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _SCRAM_ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    encoded = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_SCRAM_ITERATIONS}:{encoded[0]}${encoded[1]}:{encoded[2]}"
