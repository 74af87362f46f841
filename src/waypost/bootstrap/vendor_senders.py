"""Ways out for sender accounts: SMTP servers and Gmail's API, each as its connection says."""

import asyncio
from collections.abc import Sequence
from typing import Final

from waypost.adapters.outbound.guard import Guard, OutboundRefused, Refusal
from waypost.adapters.outbound.http import GuardedHttp
from waypost.adapters.vendors.gmail.sender import GmailSender
from waypost.adapters.vendors.gmail.tokens import SEND_SCOPE, SMTP_SCOPE, ServiceTokens, TokenRefused, fault_of_key
from waypost.adapters.vendors.smtp.options import (
    Credentials,
    Dial,
    Mechanism,
    NoToken,
    SmtpOptions,
    TargetRefused,
    Timeouts,
    Tls,
)
from waypost.adapters.vendors.smtp.sender import SmtpSender
from waypost.adapters.vendors.smtp.trial import try_to_enter
from waypost.channels.model import Outcome
from waypost.channels.model import OutcomeReason as Why
from waypost.channels.ports import EmailSender
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError
from waypost.senders.connection import AccountConnection, AccountKind, AuthMode, faults_of, refuse_unusable
from waypost.senders.service_account import read_service_account
from waypost.senders.vendors import Trial
from waypost.settings import Settings

_UPLOAD_SECONDS: Final = 60.0
_TRIAL_SECONDS: Final = 45.0
_TRIAL: Final = Timeouts(connect=15, greeting=20, command=20)
_MECHANISMS: Final = {
    AuthMode.PLAIN: Mechanism.PLAIN,
    AuthMode.LOGIN: Mechanism.LOGIN,
    AuthMode.XOAUTH2: Mechanism.XOAUTH2,
}
_REFUSALS: Final = {
    Refusal.PRIVATE: "The server's address is not public, and the operator has not allowed it.",
    Refusal.UNRESOLVABLE: "There is no server of that name.",
}
_WORDS: Final = {
    Why.AUTHENTICATION: "The server refused the credentials, or takes no login of this kind.",
    Why.TLS: "No encrypted line: the server offers none, or its certificate is not the host's.",
    Why.CONNECTION: "The server could not be reached.",
    Why.TIMEOUT: "The server did not answer in time.",
    Why.PROTOCOL: "What answered does not speak SMTP as it should.",
    Why.SLOW_DOWN: "The server asks for patience; try again later.",
    Why.POLICY: "The server does not want to talk to us.",
}
_OTHERWISE: Final = "The server would not let us in."


class VendorSenders:
    """Implements `senders.vendors.Vendors`."""

    def __init__(self, settings: Settings, *, guard: Guard, clock: Clock) -> None:
        self._settings = settings
        self._guard = guard
        self._clock = clock
        self._caller = GuardedHttp(guard, clock, timeout=_UPLOAD_SECONDS)

    def faults_of(self, connection: AccountConnection, *, pointer: str = "") -> Sequence[FieldError]:
        faults = list(faults_of(connection, pointer=pointer))
        if not faults and connection.mints_tokens:
            words = fault_of_key(read_service_account(connection.secret))
            if words is not None:
                faults.append(FieldError(pointer=f"{pointer}/secret", code="invalid_service_account", message=words))
        return faults

    def open(self, connection: AccountConnection, *, trusted: bool) -> EmailSender:
        refuse_unusable(connection)
        if connection.kind is AccountKind.GMAIL:
            return GmailSender(
                tokens=self._tokens(connection, SEND_SCOPE),
                caller=self._caller,
                url=self._settings.gmail_url,
                clock=self._clock,
                at_a_time=connection.max_connections,
            )
        return SmtpSender(self._options(connection, Timeouts()), dial=self._dial(trusted=trusted))

    async def test(self, connection: AccountConnection, *, trusted: bool) -> Trial:
        if faults := self.faults_of(connection):
            return Trial(ok=False, words=faults[0].message)
        try:
            async with asyncio.timeout(_TRIAL_SECONDS):
                if connection.kind is AccountKind.GMAIL:
                    await self._tokens(connection, SEND_SCOPE).token()
                    return Trial(
                        ok=True, words="Google lets this service account send for the mailbox.", encrypted=True
                    )
                entered = await try_to_enter(self._options(connection, _TRIAL), dial=self._dial(trusted=trusted))
        except TimeoutError:
            return Trial(ok=False, words=_WORDS[Why.TIMEOUT], reason=Why.TIMEOUT)
        except TokenRefused as refused:
            return _failed(refused.outcome)
        if isinstance(entered, Outcome):
            return _failed(entered)
        words = "The server lets us in, over an encrypted line." if entered else "The server lets us in, unencrypted."
        return Trial(ok=True, words=words, encrypted=entered)

    async def close(self) -> None:
        await self._caller.close()

    def _options(self, connection: AccountConnection, timeouts: Timeouts) -> SmtpOptions:
        return SmtpOptions(
            host=connection.host,
            port=connection.port_or_default,
            tls=Tls(connection.tls.value),
            credentials=self._credentials(connection),
            ca_file=None if self._settings.smtp_ca_file is None else str(self._settings.smtp_ca_file),
            plain_auth=connection.is_loopback,
            name=connection.helo_name or self._settings.message_domain,
            connections=connection.max_connections,
            messages_per_connection=connection.messages_per_connection,
            timeouts=timeouts,
        )

    def _credentials(self, connection: AccountConnection) -> Credentials | None:
        if connection.auth is AuthMode.NONE:
            return None
        if connection.mints_tokens:
            return Credentials(
                username=connection.username,
                mechanism=Mechanism.XOAUTH2,
                tokens=_SmtpTokens(self._tokens(connection, SMTP_SCOPE)),
            )
        return Credentials(
            username=connection.username, password=connection.secret, mechanism=_MECHANISMS[connection.auth]
        )

    def _tokens(self, connection: AccountConnection, scope: str) -> ServiceTokens:
        return ServiceTokens(
            read_service_account(connection.secret),
            subject=connection.subject or connection.username,
            scope=scope,
            caller=self._caller,
            url=self._settings.google_auth_url,
            clock=self._clock,
        )

    def _dial(self, *, trusted: bool) -> Dial | None:
        if trusted:
            return None

        async def judged(host: str, port: int) -> Sequence[str]:
            try:
                return await self._guard.addresses(host, port)
            except OutboundRefused as refused:
                raise TargetRefused(_REFUSALS[refused.refusal]) from None

        return judged


class _SmtpTokens:
    """Implements `smtp.options.Tokens` with Google's."""

    def __init__(self, tokens: ServiceTokens) -> None:
        self._tokens = tokens

    async def token(self, *, not_this: str | None = None) -> str:
        try:
            return await self._tokens.token(not_this=not_this)
        except TokenRefused as refused:
            raise NoToken(refused.outcome) from refused


def _failed(outcome: Outcome) -> Trial:
    """Without a code the words of an outcome are our own, and say more than the reason alone."""
    reason = outcome.reason or Why.OTHER
    words = _WORDS.get(reason, _OTHERWISE)
    if outcome.code is None:
        return Trial(ok=False, words=outcome.reply or words, reason=reason)
    return Trial(ok=False, words=words, reason=reason, reply=outcome.reply)
