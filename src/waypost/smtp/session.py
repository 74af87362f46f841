"""One session of somebody who submits mail, command by command."""

import asyncio
from typing import Final

import structlog

from waypost.kernel.address import AddressFault, normalise_email
from waypost.kernel.errors import Unavailable, WaypostError
from waypost.kernel.tenancy import Permission
from waypost.smtp import sasl
from waypost.smtp.handing_over import hand_over, new_request_id
from waypost.smtp.host import Host
from waypost.smtp.line import BareLineEndError, GarbledError, HungUpError, Line, TooMuchError
from waypost.smtp.path import read_path
from waypost.submission.model import SubmittedMail

_log: Final = structlog.stdlib.get_logger("waypost.smtp")
_MAIL_PARAMETERS: Final = frozenset({"SIZE", "BODY", "SMTPUTF8", "AUTH", "RET", "ENVID"})
_RECIPIENT_PARAMETERS: Final = frozenset({"NOTIFY", "ORCPT"})
_TOO_LARGE: Final = "552 5.3.4 At most {} bytes"


class Session:
    def __init__(self, host: Host, line: Line, address: str, *, is_local: bool) -> None:
        self._host = host
        self._line = line
        self._address = address
        self._is_local = is_local
        self._secret = ""
        """The key that was shown and found good."""
        self._greeted = False
        self._sender: str | None = None
        self._recipients: list[str] = []
        self._faults = 0
        self._tries = 0

    @property
    def is_busy(self) -> bool:
        """In the middle of a mail."""
        return self._sender is not None

    async def serve(self) -> None:
        """Until the caller has said goodbye, or has said too much or too little."""
        line, limits = self._line, self._host.limits
        try:
            line.say(f"220 {self._host.name} ESMTP")
            async with asyncio.timeout(limits.stranger_seconds):
                while not self._secret and await self._next():
                    pass
            while self._secret and (self.is_busy or not self._host.is_closing):
                async with asyncio.timeout(limits.idle_seconds):
                    command = await line.command()
                if not await self._obey(command):
                    return
            if self._host.is_closing:
                line.say("421 4.3.2 The server is stopping")
        except TimeoutError:
            line.say("421 4.4.2 That took too long")
        except GarbledError as garbled:
            line.say(garbled.reply)
        except HungUpError:
            return

    async def _next(self) -> bool:
        return await self._obey(await self._line.command())

    async def _obey(self, command: str) -> bool:
        """Whether the session goes on."""
        verb, _, rest = command.partition(" ")
        verb, rest = verb.upper(), rest.strip()
        match verb:
            case "EHLO" | "HELO":
                self._on_hello(verb, rest)
            case "STARTTLS":
                return await self._on_start_tls(rest)
            case "AUTH":
                return await self._on_auth(rest)
            case "MAIL":
                self._on_mail(rest)
            case "RCPT":
                self._on_recipient(rest)
            case "DATA":
                return await self._on_data(rest)
            case "RSET":
                self._forget_mail()
                self._line.say("250 2.0.0 Ok")
            case "NOOP":
                self._line.say("250 2.0.0 Ok")
            case "VRFY":
                self._line.say("252 2.5.0 Send it and see")
            case "QUIT":
                self._line.say("221 2.0.0 Bye")
                return False
            case _:
                self._refuse("502 5.5.1 This server does not know that command")
        return self._still_welcome()

    def _refuse(self, reply: str) -> None:
        self._faults += 1
        self._line.say(reply)

    def _still_welcome(self) -> bool:
        if self._faults < self._host.limits.faults:
            return True
        self._line.say("421 4.7.0 Too many mistakes")
        return False

    # Who calls

    @property
    def _may_authenticate(self) -> bool:
        """A key is shown only where nobody listens."""
        return self._line.is_secret or self._is_local

    def _on_hello(self, verb: str, name: str) -> None:
        if not name:
            self._refuse(f"501 5.5.4 Say {verb} and your name")
            return
        self._forget_mail()
        self._greeted = True
        if verb == "HELO":
            self._line.say(f"250 {self._host.name}")
            return
        offers = [self._host.name, "PIPELINING", f"SIZE {self._host.limits.mail_bytes}", "8BITMIME", "SMTPUTF8"]
        if self._host.certificate is not None and not self._line.is_secret:
            offers.append("STARTTLS")
        if self._may_authenticate:
            offers.append("AUTH PLAIN LOGIN")
        offers.append("ENHANCEDSTATUSCODES")
        for offer in offers[:-1]:
            self._line.say(f"250-{offer}")
        self._line.say(f"250 {offers[-1]}")

    async def _on_start_tls(self, rest: str) -> bool:
        if self._host.certificate is None or self._line.is_secret:
            self._refuse("503 5.5.1 TLS cannot begin here")
        elif rest:
            self._refuse("501 5.5.4 STARTTLS stands alone")
        elif self._line.has_more:
            # What was slipped in behind it must not be taken for something said in secret.
            self._line.say("501 5.5.4 Nothing may follow STARTTLS before its answer")
            return False
        else:
            self._line.say("220 2.0.0 Go on")
            await self._line.start_tls(self._host.certificate, self._host.limits.handshake_seconds)
            self._greeted, self._secret = False, ""
            self._forget_mail()
            return True
        return self._still_welcome()

    async def _on_auth(self, rest: str) -> bool:
        if self._secret:
            self._refuse("503 5.5.1 You have shown a key already")
        elif not self._greeted:
            self._refuse("503 5.5.1 Say EHLO first")
        elif not self._may_authenticate:
            self._refuse("538 5.7.11 A key is taken only over TLS; say STARTTLS first")
        else:
            mechanism, _, initial = rest.partition(" ")
            match mechanism.upper():
                case "PLAIN":
                    response = initial or await self._ask("334 ")
                    return await self._authenticate(None if response == "*" else sasl.plain_password(response))
                case "LOGIN":
                    user = initial or await self._ask(sasl.ASK_USER)
                    response = user if user == "*" else await self._ask(sasl.ASK_PASSWORD)
                    return await self._authenticate(None if response == "*" else sasl.unwrap(response))
                case _:
                    self._refuse("504 5.5.4 Say AUTH PLAIN or AUTH LOGIN")
        return self._still_welcome()

    async def _ask(self, question: str) -> str:
        self._line.say(question)
        return await self._line.command()

    async def _authenticate(self, secret: str | None) -> bool:
        if not secret:
            self._refuse("501 5.7.0 That is not what AUTH is answered with")
            return self._still_welcome()
        try:
            async with asyncio.timeout(self._host.limits.handling_seconds):
                scope = await self._host.app.access.authenticate(secret, None, new_request_id(self._host))
            scope.demand(Permission.NOTIFICATIONS_SEND)
        except (Unavailable, TimeoutError):
            self._line.say("454 4.7.0 The key could not be checked; try again")
            return True
        except WaypostError as refusal:
            return await self._wrong_key(refusal)
        self._host.guesses.right(self._address)
        self._secret = secret
        self._line.say("235 2.7.0 Welcome")
        return True

    async def _wrong_key(self, refusal: WaypostError) -> bool:
        self._host.metrics.refused.labels("wrong_key").inc()
        _log.warning("wrong key", action="smtp_key_refused", code=refusal.code)
        self._tries += 1
        await self._host.guesses.wrong(self._address)
        self._line.say(f"535 5.7.8 {refusal.detail}")
        if self._tries < self._host.limits.tries:
            return True
        self._line.say("421 4.7.0 Too many wrong keys")
        return False

    # What is sent

    def _on_mail(self, rest: str) -> None:
        path = read_path("FROM", rest)
        if path is None:
            self._refuse("501 5.5.4 Say MAIL FROM:<address>")
        elif not self._secret:
            self._refuse("530 5.7.0 Show a key first, with AUTH")
        elif self._sender is not None:
            self._refuse("503 5.5.1 There is a sender already")
        elif not _MAIL_PARAMETERS.issuperset(path.parameters):
            self._refuse("555 5.5.4 One of these parameters is not known here")
        elif not (size := path.parameters.get("SIZE", "0")).isdigit() or len(size) > 20:
            self._refuse("501 5.5.4 SIZE is a number")
        elif int(size) > self._host.limits.mail_bytes:
            self._refuse(_TOO_LARGE.format(self._host.limits.mail_bytes))
        else:
            self._sender = path.address
            self._line.say("250 2.1.0 Ok")

    def _on_recipient(self, rest: str) -> None:
        path = read_path("TO", rest)
        if path is None or not path.address:
            self._refuse("501 5.5.4 Say RCPT TO:<address>")
        elif self._sender is None:
            self._refuse("503 5.5.1 Say MAIL FROM first")
        elif not _RECIPIENT_PARAMETERS.issuperset(path.parameters):
            self._refuse("555 5.5.4 One of these parameters is not known here")
        elif len(self._recipients) >= self._host.limits.recipients:
            self._refuse("452 4.5.3 Too many recipients; send the rest in another mail")
        elif isinstance(address := normalise_email(path.address), AddressFault):
            self._refuse(f"553 5.1.3 {address.message}")
        else:
            self._recipients.append(address.text)
            self._line.say("250 2.1.5 Ok")

    async def _on_data(self, rest: str) -> bool:
        if rest or not self._recipients:
            self._refuse("501 5.5.4 DATA stands alone" if rest else "503 5.5.1 Say MAIL FROM and RCPT TO first")
            return self._still_welcome()
        limits, held = self._host.limits, 0

        def hold(count: int) -> None:
            nonlocal held
            self._host.hold(count)
            held += count

        self._line.say("354 Go on, and end with a dot on a line of its own")
        try:
            async with asyncio.timeout(limits.content_seconds):
                content = await self._line.mail(limits.mail_bytes, hold, limits.pause_seconds)
            mail = SubmittedMail(recipients=tuple(self._recipients), content=content)
            self._line.say(await hand_over(self._host, self._secret, mail))
        except TooMuchError:
            self._refuse(_TOO_LARGE.format(limits.mail_bytes))
        except BareLineEndError:
            self._refuse("554 5.6.0 Lines end with CR LF, and neither stands alone")
        except Unavailable as full:
            # In the middle of a mail nobody can be answered but by hanging up.
            self._line.say(f"421 4.3.2 {full.detail}")
            return False
        finally:
            self._host.let_go(held)
            self._forget_mail()
        return self._still_welcome()

    def _forget_mail(self) -> None:
        self._sender = None
        self._recipients = []
