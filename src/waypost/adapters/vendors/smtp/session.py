"""From a name to a session that takes messages: address, connection, greeting, EHLO, STARTTLS, AUTH."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, cast

from waypost.adapters.vendors.smtp.authenticate import authenticate
from waypost.adapters.vendors.smtp.envelope import Features, features_of
from waypost.adapters.vendors.smtp.options import Dial, SmtpOptions, TargetRefused, Tls, own_name
from waypost.adapters.vendors.smtp.outcomes import SessionRefused, lost, reason_of, session_refused, unopened
from waypost.adapters.vendors.smtp.protocol import Connection, Pool
from waypost.adapters.vendors.smtp.replies import ReplyUnreadable
from waypost.channels.model import OutcomeReason as Why

_NOT_UNDERSTOOD: Final = frozenset({500, 501, 502, 504, 550, 554})
_LEAST_CONNECT_SECONDS: Final = 5.0


class Opener:
    """Opens sessions with one server."""

    def __init__(
        self, options: SmtpOptions, *, dial: Dial | None = None, now: Callable[[], float] | None = None
    ) -> None:
        self._options = options
        self._dial = dial
        self._now = now
        self._context: ssl.SSLContext | None = None

    async def open(self, pool: Pool) -> Connection:
        """Raises `SessionRefused`. Where TLS is only opportunistic and fails, mail that needs no password goes
        without."""
        options = self._options
        if options.tls is Tls.OFF:
            return await self._open(pool, None)
        if self._context is None:
            self._context = tls_context(options.ca_file, checked=options.checks_certificate)
        try:
            return await self._open(pool, self._context)
        except SessionRefused as refused:
            in_the_clear = options.credentials is None or options.plain_auth
            if options.tls is not Tls.OPPORTUNISTIC or refused.outcome.reason is not Why.TLS or not in_the_clear:
                raise
        return await self._open(pool, None)

    async def _open(self, pool: Pool, context: ssl.SSLContext | None) -> Connection:
        options = self._options
        connection = Connection(pool, options, asyncio.get_running_loop(), self._now)
        try:
            await self._connect(connection, context if options.tls is Tls.IMPLICIT else None)
            await _greet(connection, options)
            encrypted = options.tls is Tls.IMPLICIT
            if not encrypted and context is not None:
                encrypted = await _start_tls(connection, options, context)
            if options.credentials is not None:
                await authenticate(connection, options, options.credentials, encrypted=encrypted)
            if connection.heard_too_much:
                raise ReplyUnreadable
        except BaseException as error:
            connection.break_off(ConnectionAbortedError("The session was not opened."))
            if isinstance(error, SessionRefused) or not isinstance(error, Exception):
                raise
            words = error.words if isinstance(error, TargetRefused) else None
            raise SessionRefused(lost(reason_of(error), 0, in_doubt=False, words=words)) from error
        connection.encrypted = encrypted
        return connection

    async def _connect(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        """To the first address that answers. TLS asks for the certificate of the name, whatever the address."""
        options, loop = self._options, asyncio.get_running_loop()
        async with asyncio.timeout(options.timeouts.connect):
            addresses: Sequence[str] = [options.host]
            if self._dial is not None:
                addresses = await self._dial(options.host, options.port)
            share = max(options.timeouts.connect / len(addresses), _LEAST_CONNECT_SECONDS)
            failure: OSError = ConnectionError("There is no address.")
            for address in addresses:
                try:
                    async with asyncio.timeout(share):
                        await loop.create_connection(
                            lambda: connection,
                            address,
                            options.port,
                            ssl=context,
                            server_hostname=None if context is None else options.host,
                        )
                except ssl.SSLError:
                    raise
                except OSError as error:
                    failure = error
                else:
                    return
            raise failure


@lru_cache(maxsize=16)
def tls_context(ca_file: str | None, *, checked: bool) -> ssl.SSLContext:
    """Shared by all senders: each holds every authority that the system knows."""
    context = ssl.create_default_context(cafile=ca_file)
    if not checked:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _greet(connection: Connection, options: SmtpOptions) -> None:
    greeting = await connection.ask(None, options.timeouts.greeting)
    if greeting.code != 220:
        raise session_refused(greeting)
    await _say_hello(connection, options)


async def _say_hello(connection: Connection, options: SmtpOptions) -> None:
    name = options.name or own_name(_local_address(connection))
    reply = await connection.ask(f"EHLO {name}\r\n".encode("ascii"), options.timeouts.command)
    if reply.code == 250:
        connection.features = features_of(reply.lines())
        return
    if reply.code not in _NOT_UNDERSTOOD:
        raise session_refused(reply)
    reply = await connection.ask(f"HELO {name}\r\n".encode("ascii"), options.timeouts.command)
    if reply.code != 250:
        raise session_refused(reply)
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
            raise unopened(reply, Why.TLS)
        return False
    if connection.heard_too_much or connection.transport is None:
        # Said before encryption, it would be taken for something said after.
        raise ReplyUnreadable
    # What was offered in the clear counts no more, whatever follows.
    connection.features = Features()
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


def _local_address(connection: Connection) -> str:
    name = cast("tuple[str, int] | None", connection.transport and connection.transport.get_extra_info("sockname"))
    return name[0] if name else "127.0.0.1"
