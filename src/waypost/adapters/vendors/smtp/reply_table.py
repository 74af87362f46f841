"""What a refusal means, in one table: by its code, its enhanced code (RFC 3463), its words, and its code again.

The first row that fits counts. 5.7.x is about us, never about the recipient. Only an address that is dead by its own
code, or by words that can mean nothing else, is a hard bounce. `docs/retries.md` is made from this table.
"""

import re
from enum import Enum
from typing import Final, NamedTuple

from waypost.adapters.vendors.smtp.replies import Reply
from waypost.channels.model import OutcomeReason as Why


class By(Enum):
    """How a row is found, in the order of looking."""

    CODE = "the reply code alone"
    ENHANCED = "the enhanced code"
    WORDS = "the words"
    CODE_AT_LAST = "the reply code, where nothing else said more"


class Meaning(NamedTuple):
    reason: Why
    hard_bounce: bool = False


class Row(NamedTuple):
    by: By
    said: str
    """A code, an enhanced code (`4.7.x` stands for every detail not listed), or a pattern of words in lower case."""
    meaning: Meaning
    example: str
    """A reply that this row is for."""


def _row(by: By, said: str, reason: Why, example: str, *, hard: bool = False) -> Row:
    return Row(by, said, Meaning(reason, hard), example)


_CODE, _ENHANCED, _WORDS, _AT_LAST = By.CODE, By.ENHANCED, By.WORDS, By.CODE_AT_LAST

TABLE: Final = (
    _row(_CODE, "421", Why.SLOW_DOWN, "421 4.7.28 Unusual rate of mail"),
    _row(_CODE, "530", Why.AUTHENTICATION, "530 5.7.0 Authentication required"),
    _row(_CODE, "534", Why.AUTHENTICATION, "534 5.7.9 Mechanism is too weak"),
    _row(_CODE, "535", Why.AUTHENTICATION, "535 5.7.8 Credentials invalid"),
    _row(_CODE, "538", Why.TLS, "538 5.7.11 Encryption required"),
    _row(_CODE, "556", Why.ADDRESS_UNKNOWN, "556 5.1.10 The domain takes no mail", hard=True),
    _row(_ENHANCED, "5.1.1", Why.ADDRESS_UNKNOWN, "550 5.1.1 No such user", hard=True),
    _row(_ENHANCED, "5.1.2", Why.ADDRESS_UNKNOWN, "550 5.1.2 No such domain", hard=True),
    _row(_ENHANCED, "5.1.3", Why.ADDRESS_INVALID, "553 5.1.3 Bad address syntax", hard=True),
    _row(_ENHANCED, "5.1.4", Why.ADDRESS_INVALID, "550 5.1.4 Address is ambiguous"),
    _row(_ENHANCED, "5.1.6", Why.ADDRESS_UNKNOWN, "551 5.1.6 The mailbox has moved"),
    _row(_ENHANCED, "5.1.7", Why.POLICY, "550 5.1.7 Bad sender address"),
    _row(_ENHANCED, "5.1.8", Why.POLICY, "550 5.1.8 The sender's domain does not exist"),
    _row(_ENHANCED, "5.1.9", Why.POLICY, "550 5.1.9 Not a compliant server"),
    _row(_ENHANCED, "5.1.10", Why.ADDRESS_UNKNOWN, "550 5.1.10 The domain takes no mail", hard=True),
    _row(_ENHANCED, "5.2.1", Why.MAILBOX_DISABLED, "550 5.2.1 The mailbox is disabled"),
    _row(_ENHANCED, "5.2.2", Why.MAILBOX_FULL, "552 5.2.2 The mailbox is full"),
    _row(_ENHANCED, "5.2.3", Why.MESSAGE_TOO_LARGE, "552 5.2.3 Too long for this mailbox"),
    _row(_ENHANCED, "5.3.4", Why.MESSAGE_TOO_LARGE, "552 5.3.4 Too big for this system"),
    _row(_ENHANCED, "5.4.x", Why.CONNECTION, "554 5.4.6 Routing loop"),
    _row(_ENHANCED, "5.6.x", Why.CONTENT_REFUSED, "554 5.6.0 Bad MIME"),
    _row(_ENHANCED, "5.7.8", Why.AUTHENTICATION, "554 5.7.8 Credentials invalid"),
    _row(_ENHANCED, "5.7.9", Why.AUTHENTICATION, "554 5.7.9 Mechanism is too weak"),
    _row(_ENHANCED, "5.7.10", Why.TLS, "554 5.7.10 Encryption needed"),
    _row(_ENHANCED, "5.7.11", Why.TLS, "554 5.7.11 Encryption required to authenticate"),
    _row(_ENHANCED, "5.7.x", Why.POLICY, "550 5.7.515 The sending domain does not pass"),
    _row(_ENHANCED, "4.1.x", Why.ADDRESS_UNKNOWN, "450 4.1.1 The address could not be verified"),
    _row(_ENHANCED, "4.2.1", Why.MAILBOX_DISABLED, "450 4.2.1 The mailbox takes no mail now"),
    _row(_ENHANCED, "4.2.2", Why.MAILBOX_FULL, "452 4.2.2 The mailbox is full"),
    _row(_ENHANCED, "4.3.x", Why.SLOW_DOWN, "451 4.3.2 The system is busy"),
    _row(_ENHANCED, "4.4.x", Why.CONNECTION, "451 4.4.1 No answer from the next host"),
    _row(_ENHANCED, "4.5.3", Why.SLOW_DOWN, "452 4.5.3 Too many recipients"),
    _row(_ENHANCED, "4.7.x", Why.SLOW_DOWN, "451 4.7.1 Greylisted, try again in 60 seconds"),
    _row(
        _WORDS,
        r"too many|rate.?limit|throttl|try again later|grey.?list|deferred|too fast",
        Why.SLOW_DOWN,
        "451 Too many messages, try again later",
    ),
    # What is about us comes before what is about the recipient.
    _row(
        _WORDS,
        r"spam|block(ed|list| list)|black.?list|deny.?list|reputation|policy|dmarc|\bspf\b|dkim|relay"
        r"|not authori[sz]ed|access denied|unsolicited|banned|listed",
        Why.POLICY,
        "554 Your host is on a block list",
    ),
    _row(_WORDS, r"virus|malware|content", Why.CONTENT_REFUSED, "554 A virus was found"),
    _row(
        _WORDS,
        r"(message|size).{0,40}(too (large|big)|exceed|limit)|too (large|big)",
        Why.MESSAGE_TOO_LARGE,
        "552 The message is too large",
    ),
    _row(
        _WORDS,
        r"quota|mailbox.{0,20}\bfull\b|insufficient (disk|storage)|exceeded storage",
        Why.MAILBOX_FULL,
        "552 The mailbox is full",
    ),
    _row(_WORDS, r"disabled|inactive|suspended|deactivated", Why.MAILBOX_DISABLED, "550 The account is disabled"),
    _row(
        _WORDS,
        r"(user|recipient|mailbox|address|account)( \S{1,80})? (is )?(unknown|not found|(doesn'?t|does not|not) exist)"
        r"|(no such|unknown) (user|recipient|mailbox|address|account|local part)",
        Why.ADDRESS_UNKNOWN,
        "550 No such user here",
        hard=True,
    ),
    _row(
        _WORDS,
        r"mailbox (name )?(unavailable|not allowed)|invalid (recipient|mailbox)",
        Why.ADDRESS_UNKNOWN,
        "550 Requested action not taken: mailbox unavailable",
    ),
    _row(_AT_LAST, "450", Why.SLOW_DOWN, "450 Not now"),
    _row(_AT_LAST, "452", Why.SLOW_DOWN, "452 Not now"),
    _row(_AT_LAST, "454", Why.TLS, "454 TLS is not available"),
    _row(_AT_LAST, "500", Why.PROTOCOL, "500 What?"),
    _row(_AT_LAST, "501", Why.PROTOCOL, "501 5.5.4 Bad parameter"),
    _row(_AT_LAST, "502", Why.PROTOCOL, "502 5.5.1 Not implemented"),
    _row(_AT_LAST, "503", Why.PROTOCOL, "503 5.5.1 Bad sequence"),
    _row(_AT_LAST, "504", Why.PROTOCOL, "504 5.5.4 Not implemented"),
    _row(_AT_LAST, "551", Why.ADDRESS_UNKNOWN, "551 Not here"),
    _row(_AT_LAST, "552", Why.MAILBOX_FULL, "552 No room"),
    _row(_AT_LAST, "553", Why.ADDRESS_INVALID, "553 Sorry"),
    _row(_AT_LAST, "555", Why.PROTOCOL, "555 Unknown parameter"),
)
NO_ROW: Final = Meaning(Why.OTHER)
_ADDRESS: Final = re.compile(r"\S+@\S+")


def row_of(reply: Reply) -> Row | None:
    """The row for a reply of 4xx or 5xx."""
    if found := _CODES[_CODE].get(reply.code):
        return found
    enhanced = reply.enhanced
    if enhanced is not None and enhanced[0] != 2:
        _, subject, detail = enhanced
        kind = reply.code // 100
        if found := _BY_ENHANCED.get((kind, subject, detail)) or _BY_ENHANCED.get((kind, subject, None)):
            return found
    # Without addresses: what they are called says nothing about what became of the message.
    words = _ADDRESS.sub("x", reply.text.lower())
    for pattern, row in _BY_WORDS:
        if pattern.search(words):
            return row
    return _CODES[_AT_LAST].get(reply.code)


def _enhanced_key(said: str) -> tuple[int, int, int | None]:
    kind, subject, detail = said.split(".")
    return int(kind), int(subject), None if detail == "x" else int(detail)


_CODES: Final = {by: {int(row.said): row for row in TABLE if row.by is by} for by in (_CODE, _AT_LAST)}
_BY_ENHANCED: Final = {_enhanced_key(row.said): row for row in TABLE if row.by is _ENHANCED}
_BY_WORDS: Final = tuple((re.compile(row.said), row) for row in TABLE if row.by is _WORDS)
