"""What a server's words, or its silence, mean for a message. One table each for codes, words and errors.

5.7.x and whatever is said to MAIL FROM is about us, never about the recipient. Only an address that is dead by its own
code, or by words that can mean nothing else, is a hard bounce.
"""

import re
import ssl
from enum import Enum
from typing import Final, NamedTuple

from waypost.adapters.vendors.smtp.replies import Reply, ReplyUnreadable, reference_in
from waypost.channels.model import Outcome, OutcomeKind
from waypost.channels.model import OutcomeReason as Why


class Step(Enum):
    """To which part of the talk a reply belongs."""

    SENDER = "sender"
    RECIPIENT = "recipient"
    CONTENT = "content"


class Meaning(NamedTuple):
    reason: Why
    hard_bounce: bool = False


# (subject, detail) of RFC 3463 as said with a 5; None stands for every other detail.
_PERMANENT: Final[dict[tuple[int, int | None], Meaning]] = {
    (1, 1): Meaning(Why.ADDRESS_UNKNOWN, hard_bounce=True),
    (1, 2): Meaning(Why.ADDRESS_UNKNOWN, hard_bounce=True),
    (1, 3): Meaning(Why.ADDRESS_INVALID, hard_bounce=True),
    (1, 10): Meaning(Why.ADDRESS_UNKNOWN, hard_bounce=True),
    (1, 4): Meaning(Why.ADDRESS_INVALID),
    (1, 6): Meaning(Why.ADDRESS_UNKNOWN),
    (1, 7): Meaning(Why.POLICY),
    (1, 8): Meaning(Why.POLICY),
    (1, 9): Meaning(Why.POLICY),
    (2, 1): Meaning(Why.MAILBOX_DISABLED),
    (2, 2): Meaning(Why.MAILBOX_FULL),
    (2, 3): Meaning(Why.MESSAGE_TOO_LARGE),
    (3, 4): Meaning(Why.MESSAGE_TOO_LARGE),
    (4, None): Meaning(Why.CONNECTION),
    (6, None): Meaning(Why.CONTENT_REFUSED),
    (7, 8): Meaning(Why.AUTHENTICATION),
    (7, 9): Meaning(Why.AUTHENTICATION),
    (7, 10): Meaning(Why.TLS),
    (7, 11): Meaning(Why.TLS),
    (7, None): Meaning(Why.POLICY),
}
# As said with a 4.
_TEMPORARY: Final[dict[tuple[int, int | None], Meaning]] = {
    (1, None): Meaning(Why.ADDRESS_UNKNOWN),
    (2, 1): Meaning(Why.MAILBOX_DISABLED),
    (2, 2): Meaning(Why.MAILBOX_FULL),
    (3, None): Meaning(Why.SLOW_DOWN),
    (4, None): Meaning(Why.CONNECTION),
    (7, None): Meaning(Why.SLOW_DOWN),
}
# Replies whose first code alone says it, whatever follows.
_BY_CODE: Final[dict[int, Meaning]] = {
    421: Meaning(Why.SLOW_DOWN),
    454: Meaning(Why.TLS),
    530: Meaning(Why.AUTHENTICATION),
    534: Meaning(Why.AUTHENTICATION),
    535: Meaning(Why.AUTHENTICATION),
    538: Meaning(Why.TLS),
    556: Meaning(Why.ADDRESS_UNKNOWN, hard_bounce=True),
}
# The last resort: the first code, where neither an enhanced code nor words say more.
_BY_CODE_AT_LAST: Final[dict[int, Meaning]] = {
    450: Meaning(Why.SLOW_DOWN),
    452: Meaning(Why.SLOW_DOWN),
    500: Meaning(Why.PROTOCOL),
    501: Meaning(Why.PROTOCOL),
    502: Meaning(Why.PROTOCOL),
    503: Meaning(Why.PROTOCOL),
    504: Meaning(Why.PROTOCOL),
    551: Meaning(Why.ADDRESS_UNKNOWN),
    552: Meaning(Why.MAILBOX_FULL),
    553: Meaning(Why.ADDRESS_INVALID),
    555: Meaning(Why.PROTOCOL),
}
# Words, the most telling first. What is about us comes before what is about the recipient.
_BY_WORDS: Final[tuple[tuple[re.Pattern[str], Meaning], ...]] = (
    (re.compile(r"too many|rate.?limit|throttl|try again later|grey.?list|deferred|too fast"), Meaning(Why.SLOW_DOWN)),
    (
        re.compile(
            r"spam|block(ed|list| list)|black.?list|deny.?list|reputation|policy|dmarc|\bspf\b|dkim|relay"
            r"|not authori[sz]ed|access denied|unsolicited|banned|listed"
        ),
        Meaning(Why.POLICY),
    ),
    (re.compile(r"virus|malware|content"), Meaning(Why.CONTENT_REFUSED)),
    (
        re.compile(r"(message|size).{0,40}(too (large|big)|exceed|limit)|too (large|big)"),
        Meaning(Why.MESSAGE_TOO_LARGE),
    ),
    (
        re.compile(r"quota|mailbox.{0,20}\bfull\b|insufficient (disk|storage)|exceeded storage"),
        Meaning(Why.MAILBOX_FULL),
    ),
    (re.compile(r"disabled|inactive|suspended|deactivated"), Meaning(Why.MAILBOX_DISABLED)),
    (
        re.compile(
            r"(user|recipient|mailbox|address|account)( \S{1,80})? (is )?"
            r"(unknown|not found|(doesn'?t|does not|not) exist)"
            r"|(no such|unknown) (user|recipient|mailbox|address|account|local part)"
        ),
        Meaning(Why.ADDRESS_UNKNOWN, hard_bounce=True),
    ),
    (
        re.compile(r"mailbox (name )?(unavailable|not allowed)|invalid (recipient|mailbox)"),
        Meaning(Why.ADDRESS_UNKNOWN),
    ),
)
_ABOUT_RECIPIENT: Final = frozenset({Why.ADDRESS_UNKNOWN, Why.ADDRESS_INVALID, Why.MAILBOX_DISABLED, Why.MAILBOX_FULL})
# The first that fits counts, so the narrower comes first.
ERRORS: Final[tuple[tuple[type[BaseException], Why], ...]] = (
    (ssl.SSLError, Why.TLS),
    (TimeoutError, Why.TIMEOUT),
    (ReplyUnreadable, Why.PROTOCOL),
    (OSError, Why.CONNECTION),
    (EOFError, Why.CONNECTION),
    (UnicodeError, Why.CONNECTION),
    (Exception, Why.OTHER),
)


def meaning_of(reply: Reply, step: Step = Step.RECIPIENT) -> Meaning:
    """Why a message was refused by this reply (of 4xx or 5xx)."""
    meaning = _meaning(reply)
    if step is Step.SENDER and meaning.reason in _ABOUT_RECIPIENT:
        return Meaning(Why.POLICY)
    if reply.code < 500 and meaning.hard_bounce:
        return Meaning(meaning.reason)
    return meaning


def _meaning(reply: Reply) -> Meaning:
    if known := _BY_CODE.get(reply.code):
        return known
    if (enhanced := reply.enhanced) is not None:
        _, subject, detail = enhanced
        table = _TEMPORARY if reply.code < 500 else _PERMANENT
        if known := table.get((subject, detail)) or table.get((subject, None)):
            return known
    words = reply.text.lower()
    for pattern, meaning in _BY_WORDS:
        if pattern.search(words):
            return meaning
    return _BY_CODE_AT_LAST.get(reply.code, Meaning(Why.OTHER))


def accepted(reply: Reply, latency_ms: int, note: str = "") -> Outcome:
    text = reply.text
    return Outcome(
        kind=OutcomeKind.ACCEPTED,
        code=reply.code,
        reply=(text + note)[:1_000],
        reference=reference_in(text),
        latency_ms=latency_ms,
    )


def refused(reply: Reply, step: Step, latency_ms: int, *, several_recipients: bool = False) -> Outcome:
    """The server said no, for now (4xx) or for good (5xx)."""
    meaning = meaning_of(reply, step)
    # After the content, one reply speaks for all recipients: nobody can tell whose address is dead.
    unclear = step is Step.CONTENT and several_recipients
    return Outcome(
        kind=OutcomeKind.DEFERRED if reply.code < 500 else OutcomeKind.REJECTED,
        reason=meaning.reason,
        code=reply.code,
        reply=reply.text,
        latency_ms=latency_ms,
        hard_bounce=meaning.hard_bounce and not unclear,
    )


def lost(reason: Why, latency_ms: int, *, in_doubt: bool, words: str | None = None) -> Outcome:
    """The server said nothing final about it."""
    kind = OutcomeKind.IN_DOUBT if in_doubt else OutcomeKind.UNREACHABLE
    return Outcome(kind=kind, reason=reason, reply=words, latency_ms=latency_ms)


def unsendable(reason: Why, words: str) -> Outcome:
    """What we see ourselves that this server cannot take."""
    return Outcome(kind=OutcomeKind.REJECTED, reason=reason, reply=words)


def reason_of(error: BaseException) -> Why:
    return next((reason for kind, reason in ERRORS if isinstance(error, kind)), Why.OTHER)
