"""What sender accounts ask of the vendors' adapters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from waypost.channels.model import OutcomeReason
from waypost.channels.ports import EmailSender
from waypost.kernel.errors import FieldError
from waypost.senders.connection import AccountConnection


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """How an attempt to enter went. No message is sent."""

    ok: bool
    words: str
    """Plain ones, for people. Never the secret; never the server's own words."""
    reason: OutcomeReason | None = None
    """None where it went well. AUTHENTICATION: the server does not know us."""
    reply: str | None = None
    """The server's own words, cleaned and bounded, where it said any."""
    encrypted: bool = False


class Vendors(Protocol):
    def faults_of(self, connection: AccountConnection, *, pointer: str = "") -> Sequence[FieldError]:
        """Everything that can be known to be wrong before anybody is called: what `connection.faults_of` sees, and
        whether a key file's key is one."""
        ...

    def open(self, connection: AccountConnection, *, trusted: bool) -> EmailSender:
        """Nothing is called yet. Keep the sender and close it in the end: its connections are pooled.

        `trusted`: the operator's own target. Every other goes through the outbound guard. Raises `Refused` for a
        connection that `connection.faults_of` finds fault with."""
        ...

    async def test(self, connection: AccountConnection, *, trusted: bool) -> Trial:
        """Enters and leaves at once. Takes a minute at most and never raises for what a server does."""
        ...
