"""The way out by Gmail's API: a few uploads at a time, one message each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from waypost.adapters.vendors.gmail.outcomes import outcome_of
from waypost.adapters.vendors.gmail.tokens import ServiceTokens, TokenRefused
from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.model import OutcomeReason as Why
from waypost.channels.ports import Wire, Withdrawn
from waypost.kernel.clock import Clock
from waypost.outbox.ports import Caller

PATH: Final = "/upload/gmail/v1/users/me/messages/send?uploadType=media"
_LARGEST: Final = 35 * 1024 * 1024
_WITHDRAWN: Final = Outcome(kind=OutcomeKind.UNREACHABLE, reason=Why.OTHER, reply="The message was withdrawn.")
_CLOSING: Final = Outcome(kind=OutcomeKind.UNREACHABLE, reason=Why.CONNECTION, reply="The sender is closing.")
_TOO_LARGE: Final = Outcome(
    kind=OutcomeKind.REJECTED, reason=Why.MESSAGE_TOO_LARGE, reply="not sent: Gmail takes at most 35 MB"
)


@dataclass(slots=True)
class _Call:
    """The messages of one call."""

    wire: Wire
    withdrawn: bool = False


class GmailSender:
    """Implements `channels.ports.EmailSender`. Whom a message goes to is read by Gmail from its headers, so copies
    that no header names are added as Bcc, which Gmail takes out again."""

    def __init__(
        self, *, tokens: ServiceTokens, caller: Caller, url: str, clock: Clock, at_a_time: int, closing: float = 5.0
    ) -> None:
        self._tokens = tokens
        self._caller = caller
        self._url = url.rstrip("/") + PATH
        self._clock = clock
        self._room = asyncio.Semaphore(at_a_time)
        self._closing_seconds = closing
        self._closing = False
        self._uploads = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        call = _Call(wire)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._send_one(call, index, email)) for index, email in enumerate(messages)]
        return [task.result() for task in tasks]

    async def close(self) -> None:
        """Waits a little for answers to what is on the wire."""
        self._closing = True
        try:
            async with asyncio.timeout(self._closing_seconds):
                await self._quiet.wait()
        except TimeoutError:
            return

    async def _send_one(self, call: _Call, index: int, email: OutgoingEmail) -> Outcome:
        async with self._room:
            self._uploads += 1
            self._quiet.clear()
            try:
                outcome = await self._upload(call, index, email)
            finally:
                self._uploads -= 1
                if not self._uploads:
                    self._quiet.set()
        call.wire.answered(index, outcome)
        return outcome

    async def _upload(self, call: _Call, index: int, email: OutgoingEmail) -> Outcome:
        if self._closing or call.withdrawn:
            return _CLOSING if self._closing else _WITHDRAWN
        if email.size > _LARGEST:
            return _TOO_LARGE
        try:
            token = await self._tokens.token()
            if call.withdrawn:
                return _WITHDRAWN
            call.wire.going(index)
            outcome = await self._post(email, token)
            if outcome.code != 401:
                return outcome
            # A token may be taken back before its time; a message that is answered so was not taken.
            return await self._post(email, await self._tokens.token(not_this=token))
        except TokenRefused as refused:
            return refused.outcome
        except Withdrawn:
            call.withdrawn = True
            return _WITHDRAWN

    async def _post(self, email: OutgoingEmail, token: str) -> Outcome:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "message/rfc822", "Accept": "application/json"}
        answer = await self._caller.post(self._url, headers, _with_copies(email))
        return outcome_of(answer, self._clock.now())


def _with_copies(email: OutgoingEmail) -> bytes:
    whole = email.whole
    if len(email.envelope_to) < 2:
        return whole
    named = whole.partition(b"\r\n\r\n")[0].lower()
    hidden = [one for one in email.envelope_to[1:] if one.lower().encode() not in named]
    return b"".join(f"Bcc: {one}\r\n".encode() for one in hidden) + whole
