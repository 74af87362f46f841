"""What a server's words, or its silence, mean for a message. `reply_table` says why, this what follows."""

import re
import ssl
from enum import Enum
from typing import Final

from waypost.adapters.vendors.smtp.options import TargetRefused
from waypost.adapters.vendors.smtp.replies import Reply, ReplyUnreadable
from waypost.adapters.vendors.smtp.reply_table import NO_ROW, Meaning, row_of
from waypost.channels.model import Outcome, OutcomeKind
from waypost.channels.model import OutcomeReason as Why


class Step(Enum):
    """To which part of the talk a reply belongs."""

    SENDER = "sender"
    RECIPIENT = "recipient"
    CONTENT = "content"


_ABOUT_RECIPIENT: Final = frozenset({Why.ADDRESS_UNKNOWN, Why.ADDRESS_INVALID, Why.MAILBOX_DISABLED, Why.MAILBOX_FULL})
# About the way in, not about this message: it waits until the way is open again.
_ABOUT_ENTRY: Final = frozenset({Why.AUTHENTICATION, Why.TLS})
# The first that fits counts, so the narrower comes first.
ERRORS: Final[tuple[tuple[type[BaseException], Why], ...]] = (
    (ssl.SSLError, Why.TLS),
    (TimeoutError, Why.TIMEOUT),
    (ReplyUnreadable, Why.PROTOCOL),
    (TargetRefused, Why.CONNECTION),
    (OSError, Why.CONNECTION),
    (EOFError, Why.CONNECTION),
    (UnicodeError, Why.CONNECTION),
    (Exception, Why.OTHER),
)
_IN_A_WHILE: Final = re.compile(
    r"(?:try|retry|come back|again)\b.{0,40}?\b(?:in|after)\s+(\d{1,5})\s*(s|sec|m|min|h|hour)(?:ond|ute)?s?\b"
)
_SECONDS: Final = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}
_LONGEST_PAUSE: Final = 86_400


class SessionRefused(Exception):
    """No session. `outcome` is what that means for a message that wanted one."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def meaning_of(reply: Reply, step: Step = Step.RECIPIENT) -> Meaning:
    """Why a message was refused by this reply (of 4xx or 5xx)."""
    row = row_of(reply)
    meaning = NO_ROW if row is None else row.meaning
    if step is Step.SENDER and meaning.reason in _ABOUT_RECIPIENT:
        return Meaning(Why.POLICY)
    if meaning.hard_bounce and (reply.code < 500 or (reply.enhanced or (5,))[0] != 5):
        return Meaning(meaning.reason)
    return meaning


def kind_of(code: int, reason: Why) -> OutcomeKind:
    """4xx: later. 5xx: never, unless it is only about how we came in."""
    if code < 500:
        return OutcomeKind.DEFERRED
    return OutcomeKind.UNREACHABLE if reason in _ABOUT_ENTRY else OutcomeKind.REJECTED


def accepted(reply: Reply, latency_ms: int, note: str = "") -> Outcome:
    return Outcome(
        kind=OutcomeKind.ACCEPTED,
        code=reply.code,
        reply=(reply.text + note)[:1_000] if note else reply.text,
        reference=reply.reference,
        latency_ms=latency_ms,
    )


def refused(reply: Reply, step: Step, latency_ms: int, *, several_recipients: bool = False) -> Outcome:
    """The server said no, for now (4xx) or for good (5xx)."""
    meaning = meaning_of(reply, step)
    # After the content, one reply speaks for all recipients: nobody can tell whose address is dead.
    unclear = step is Step.CONTENT and several_recipients
    return Outcome(
        kind=kind_of(reply.code, meaning.reason),
        reason=meaning.reason,
        code=reply.code,
        reply=reply.text,
        latency_ms=latency_ms,
        hard_bounce=meaning.hard_bounce and not unclear,
        retry_after=asked_pause(reply),
    )


def asked_pause(reply: Reply) -> float | None:
    """How long a deferral asks us to wait, in seconds, where it says so."""
    if reply.code >= 500 or (found := _IN_A_WHILE.search(reply.text.lower())) is None:
        return None
    return float(min(int(found[1]) * _SECONDS[found[2]], _LONGEST_PAUSE))


def lost(reason: Why, latency_ms: int, *, in_doubt: bool, words: str | None = None) -> Outcome:
    """The server said nothing final about it; `words` are our own."""
    kind = OutcomeKind.IN_DOUBT if in_doubt else OutcomeKind.UNREACHABLE
    return Outcome(kind=kind, reason=reason, reply=words, latency_ms=latency_ms)


def unsendable(reason: Why, words: str) -> Outcome:
    """What we see ourselves that this server cannot take."""
    return Outcome(kind=OutcomeKind.REJECTED, reason=reason, reply=words)


def session_refused(reply: Reply) -> SessionRefused:
    """A session refused for now defers its messages; refused for good, it says nothing about them."""
    if reply.code < 400:
        return unopened(reply, Why.PROTOCOL)
    if reply.code < 500:
        return SessionRefused(refused(reply, Step.SENDER, 0))
    reason = Why.AUTHENTICATION if meaning_of(reply).reason is Why.AUTHENTICATION else Why.POLICY
    return unopened(reply, reason)


def entry_refused(reply: Reply) -> SessionRefused:
    """The answer to AUTH. Only a refusal for good says that the credentials are wrong."""
    if reply.code < 400:
        return unopened(reply, Why.PROTOCOL)
    if reply.code < 500:
        deferred = Outcome(
            kind=OutcomeKind.DEFERRED,
            reason=Why.SLOW_DOWN,
            code=reply.code,
            reply=reply.text,
            retry_after=asked_pause(reply),
        )
        return SessionRefused(deferred)
    needs_tls = meaning_of(reply).reason is Why.TLS
    return unopened(reply, Why.TLS if needs_tls else Why.AUTHENTICATION)


def unopened(reply: Reply, reason: Why) -> SessionRefused:
    """The server's word on the session, which is none on any message."""
    return SessionRefused(Outcome(kind=OutcomeKind.UNREACHABLE, reason=reason, code=reply.code, reply=reply.text))


def reason_of(error: BaseException) -> Why:
    return next((reason for kind, reason in ERRORS if isinstance(error, kind)), Why.OTHER)
