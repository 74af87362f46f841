"""AUTH (RFC 4954): a password by PLAIN or LOGIN, a bearer token by XOAUTH2. Never over an open line unasked."""

from base64 import b64encode
from contextlib import suppress
from typing import Final

from waypost.adapters.vendors.smtp.options import Credentials, Mechanism, NoToken, SmtpOptions
from waypost.adapters.vendors.smtp.outcomes import SessionRefused, entry_refused, lost
from waypost.adapters.vendors.smtp.protocol import Connection
from waypost.adapters.vendors.smtp.replies import Reply
from waypost.channels.model import OutcomeReason as Why

_WELCOME: Final = 235
_SAY_MORE: Final = 334
_LONGEST_LINE: Final = 12_288
_MISSING: Final = {
    Mechanism.ANY: "The server offers neither AUTH PLAIN nor AUTH LOGIN.",
    Mechanism.PLAIN: "The server does not offer AUTH PLAIN.",
    Mechanism.LOGIN: "The server does not offer AUTH LOGIN.",
    Mechanism.XOAUTH2: "The server does not offer AUTH XOAUTH2.",
}


async def authenticate(
    connection: Connection, options: SmtpOptions, credentials: Credentials, *, encrypted: bool
) -> None:
    """Raises `SessionRefused`."""
    if not encrypted and not options.plain_auth:
        words = "The line is not encrypted, so the secret was not sent."
        raise SessionRefused(lost(Why.TLS, 0, in_doubt=False, words=words))
    mechanism, seconds = _chosen(connection, credentials), options.timeouts.command
    match mechanism:
        case Mechanism.LOGIN:
            reply = await _login(connection, credentials, seconds)
        case Mechanism.XOAUTH2:
            reply = await _by_token(connection, credentials, seconds)
        case _:
            secret = b"\x00" + credentials.username.encode() + b"\x00" + credentials.password.encode()
            reply = await connection.ask(b"AUTH PLAIN " + _encoded(secret), seconds)
    if reply.code != _WELCOME:
        raise entry_refused(reply)


def _chosen(connection: Connection, credentials: Credentials) -> Mechanism:
    offered, wanted = connection.features.authentication, credentials.mechanism
    if wanted is Mechanism.ANY:
        wanted = Mechanism.PLAIN if Mechanism.PLAIN in offered else Mechanism.LOGIN
    if wanted not in offered:
        words = _MISSING[credentials.mechanism]
        raise SessionRefused(lost(Why.AUTHENTICATION, 0, in_doubt=False, words=words))
    return wanted


async def _login(connection: Connection, credentials: Credentials, seconds: float) -> Reply:
    reply = await connection.ask(b"AUTH LOGIN\r\n", seconds)
    for word in (credentials.username, credentials.password):
        if reply.code != _SAY_MORE:
            break
        reply = await connection.ask(_encoded(word.encode()), seconds)
    return reply


async def _by_token(connection: Connection, credentials: Credentials, seconds: float) -> Reply:
    """A token that is refused is fetched anew, once: it may have been taken back before its time."""
    token, tokens = credentials.password, credentials.tokens
    try:
        if tokens is None:
            return await _present(connection, credentials.username, token, seconds)
        token = await tokens.token()
        reply = await _present(connection, credentials.username, token, seconds)
        if reply.code < 500:
            return reply
        other = await tokens.token(not_this=token)
        if other != token:
            # Some servers hang up after a refusal: then the refusal counts.
            with suppress(OSError):
                reply = await _present(connection, credentials.username, other, seconds)
        return reply
    except NoToken as none:
        raise SessionRefused(none.outcome) from none


async def _present(connection: Connection, username: str, token: str, seconds: float) -> Reply:
    words = f"user={username}\x01auth=Bearer {token}\x01\x01"
    reply = await connection.ask(b"AUTH XOAUTH2 " + _encoded(words.encode()), seconds)
    if reply.code == _SAY_MORE:
        # The reason of a refusal, which it takes an empty line to end.
        reply = await connection.ask(b"\r\n", seconds)
    return reply


def _encoded(words: bytes) -> bytes:
    line = b64encode(words) + b"\r\n"
    if len(line) > _LONGEST_LINE:
        raise SessionRefused(lost(Why.AUTHENTICATION, 0, in_doubt=False, words="The secret is too long for SMTP."))
    return line
