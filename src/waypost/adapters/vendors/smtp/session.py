"""From a socket to a session that takes messages: greeting, EHLO, STARTTLS, AUTH."""

import asyncio
import ssl
from base64 import b64encode
from typing import Final, cast

from waypost.adapters.vendors.smtp.envelope import Features, features_of
from waypost.adapters.vendors.smtp.options import Credentials, SmtpOptions, Tls, own_name
from waypost.adapters.vendors.smtp.outcomes import lost, meaning_of, reason_of
from waypost.adapters.vendors.smtp.protocol import Connection, Pool
from waypost.adapters.vendors.smtp.replies import Reply, ReplyUnreadable
from waypost.channels.model import Outcome, OutcomeKind
from waypost.channels.model import OutcomeReason as Why

_NOT_UNDERSTOOD: Final = frozenset({500, 501, 502, 504, 550, 554})


class SessionRefused(Exception):
    """No session. `outcome` is what that means for a message that wanted one."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def tls_context(options: SmtpOptions) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.ca_file)
    if not options.checks_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def open_session(pool: Pool, options: SmtpOptions, context: ssl.SSLContext | None) -> Connection:
    """Raises `SessionRefused`. Where TLS is only opportunistic and fails, the mail goes without."""
    try:
        return await _open(pool, options, context)
    except SessionRefused as refused:
        if options.tls is not Tls.OPPORTUNISTIC or refused.outcome.reason is not Why.TLS:
            raise
    return await _open(pool, options, None)


async def _open(pool: Pool, options: SmtpOptions, context: ssl.SSLContext | None) -> Connection:
    loop = asyncio.get_running_loop()
    connection = Connection(pool, options, loop)
    try:
        async with asyncio.timeout(options.timeouts.connect):
            await loop.create_connection(
                lambda: connection, options.host, options.port, ssl=context if options.tls is Tls.IMPLICIT else None
            )
        await _greet(connection, options)
        encrypted = options.tls is Tls.IMPLICIT
        if not encrypted and context is not None:
            encrypted = await _start_tls(connection, options, context)
        if options.credentials is not None:
            await _authenticate(connection, options, options.credentials, encrypted=encrypted)
    except BaseException as error:
        connection.break_off(ConnectionAbortedError("The session was not opened."))
        if isinstance(error, SessionRefused) or not isinstance(error, Exception):
            raise
        raise SessionRefused(lost(reason_of(error), 0, in_doubt=False)) from error
    return connection


async def _greet(connection: Connection, options: SmtpOptions) -> None:
    greeting = await connection.ask(None, options.timeouts.greeting)
    if greeting.code != 220:
        raise _refused(greeting)
    await _say_hello(connection, options)


async def _say_hello(connection: Connection, options: SmtpOptions) -> None:
    name = options.name or own_name(_local_address(connection))
    reply = await connection.ask(f"EHLO {name}\r\n".encode("ascii"), options.timeouts.command)
    if reply.code == 250:
        connection.features = features_of(reply.lines())
        return
    if reply.code not in _NOT_UNDERSTOOD:
        raise _refused(reply)
    reply = await connection.ask(f"HELO {name}\r\n".encode("ascii"), options.timeouts.command)
    if reply.code != 250:
        raise _refused(reply)
    connection.features = Features()


async def _start_tls(connection: Connection, options: SmtpOptions, context: ssl.SSLContext) -> bool:
    must = options.tls is Tls.REQUIRED
    if not connection.features.start_tls:
        if must:
            raise SessionRefused(lost(Why.TLS, 0, in_doubt=False, words="The server does not offer STARTTLS."))
        return False
    reply = await connection.ask(b"STARTTLS\r\n", options.timeouts.command)
    if reply.code != 220:
        if must:
            raise SessionRefused(lost(Why.TLS, 0, in_doubt=False, words=reply.text))
        return False
    if connection.heard_too_much or connection.transport is None:
        # Said before encryption, it would be taken for something said after.
        raise ReplyUnreadable
    try:
        connection.transport = await asyncio.get_running_loop().start_tls(
            connection.transport,
            connection,
            context,
            server_hostname=options.host,
            ssl_handshake_timeout=options.timeouts.connect,
        )
    except OSError as error:
        raise SessionRefused(lost(Why.TLS, 0, in_doubt=False)) from error
    await _say_hello(connection, options)
    return True


async def _authenticate(
    connection: Connection, options: SmtpOptions, credentials: Credentials, *, encrypted: bool
) -> None:
    if not encrypted and not options.plain_auth:
        words = "The line is not encrypted, so the password was not sent."
        raise SessionRefused(lost(Why.TLS, 0, in_doubt=False, words=words))
    offered, seconds = connection.features.authentication, options.timeouts.command
    username, password = credentials.username.encode(), credentials.password.encode()
    if "PLAIN" in offered:
        token = b64encode(b"\x00" + username + b"\x00" + password)
        reply = await connection.ask(b"AUTH PLAIN " + token + b"\r\n", seconds)
    elif "LOGIN" in offered:
        reply = await connection.ask(b"AUTH LOGIN\r\n", seconds)
        for word in (username, password):
            if reply.code != 334:
                break
            reply = await connection.ask(b64encode(word) + b"\r\n", seconds)
    else:
        words = "The server offers neither AUTH PLAIN nor AUTH LOGIN."
        raise SessionRefused(lost(Why.AUTHENTICATION, 0, in_doubt=False, words=words))
    if reply.code != 235:
        raise _refused(reply, otherwise=Why.AUTHENTICATION)


def _refused(reply: Reply, otherwise: Why = Why.OTHER) -> SessionRefused:
    """A session refused for now defers its messages; refused for good, it says nothing about them."""
    if reply.code < 400:
        return SessionRefused(lost(Why.PROTOCOL, 0, in_doubt=False, words=reply.text))
    reason = meaning_of(reply).reason if reply.code < 500 else Why.POLICY
    if otherwise is not Why.OTHER:
        reason = otherwise
    kind = OutcomeKind.DEFERRED if reply.code < 500 else OutcomeKind.UNREACHABLE
    return SessionRefused(Outcome(kind=kind, reason=reason, code=reply.code, reply=reply.text))


def _local_address(connection: Connection) -> str:
    name = cast("tuple[str, int] | None", connection.transport and connection.transport.get_extra_info("sockname"))
    return name[0] if name else "127.0.0.1"
