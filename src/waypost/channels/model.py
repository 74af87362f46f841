"""What goes to a vendor and what comes back. A vendor's refusal is a value, never an exception."""

from enum import IntEnum, StrEnum
from typing import Final

import msgspec


class OutcomeKind(IntEnum):
    """How one call to a vendor ended. The numbers are stored in `attempts.outcome`."""

    ACCEPTED = 1
    DEFERRED = 2
    """The vendor said: later."""
    REJECTED = 3
    """The vendor said: never."""
    UNREACHABLE = 4
    """The vendor did not take the message and said nothing about it."""
    IN_DOUBT = 5
    """The vendor may have taken it: the connection ended between the last byte and the answer."""


class OutcomeReason(StrEnum):
    """Why, in one word that people and programs can rely on."""

    ADDRESS_UNKNOWN = "address_unknown"
    ADDRESS_INVALID = "address_invalid"
    MAILBOX_DISABLED = "mailbox_disabled"
    MAILBOX_FULL = "mailbox_full"
    CONTENT_REFUSED = "content_refused"
    MESSAGE_TOO_LARGE = "message_too_large"
    POLICY = "policy"
    """About us (5.7.x), never about the recipient."""
    SLOW_DOWN = "slow_down"
    AUTHENTICATION = "authentication"
    TLS = "tls"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    WORKER_LOST = "worker_lost"
    OTHER = "other"


ABOUT_US: Final = frozenset({OutcomeReason.POLICY, OutcomeReason.AUTHENTICATION, OutcomeReason.TLS})


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one call ended. A struct, like everything that is made once per message."""

    kind: OutcomeKind
    reason: OutcomeReason | None = None
    """None only when accepted."""
    code: int | None = None
    """The vendor's own number, for SMTP the reply code."""
    reply: str | None = None
    """The vendor's words: valid UTF-8, no control characters, at most 1,000 of them. May name an address: seal it."""
    reference: str | None = None
    """The vendor's id of what it took, cleaned, at most 200 characters."""
    latency_ms: int = 0
    hard_bounce: bool = False
    """The address itself is dead (5.1.1, 5.1.2, 5.1.3, 5.1.10): suppress it."""
    retry_after: float | None = None
    """Seconds that the vendor asked to be left alone for."""

    @property
    def is_about_us(self) -> bool:
        """It blames the account, its domain or its way in, never the recipient: let the breaker know."""
        return self.reason in ABOUT_US

    @property
    def asks_for_less(self) -> bool:
        """The mailbox provider (4.7.x, 421) or the vendor (429) wants fewer messages."""
        return self.reason is OutcomeReason.SLOW_DOWN


class OutgoingEmail(msgspec.Struct, frozen=True):
    """A finished message, without a Bcc header, not dot-stuffed."""

    envelope_from: str
    envelope_to: tuple[str, ...]
    """The first decides what became of the message; the others get copies."""
    data: bytes
    wire_safe: bool = False
    """Its maker vouches that every line ends with CR LF, the last one too, and none begins with a dot. Senders look for
    themselves where nobody does."""
    tail: bytes = b""
    """What follows `data`: the files, encoded once and shared by every message that carries them. Always wire safe, and
    only there where `data` is. It may be large: nobody holds a whole copy of it for each message."""
    utf8: bool = False
    """Its headers hold an address that is not ASCII (RFC 6532): only a server that offers SMTPUTF8 can take it."""
    is_ascii: bool = False
    """Its maker vouches that `data` is ASCII throughout. Senders look for themselves where nobody does."""

    @property
    def size(self) -> int:
        return len(self.data) + len(self.tail)

    @property
    def whole(self) -> bytes:
        return self.data + self.tail if self.tail else self.data
