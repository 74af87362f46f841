"""What Google's answers mean for a message: one table by status and, where the status alone says too little, reason.

`docs/retries.md` is made from this table.
"""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

import msgspec

from waypost.channels.model import Outcome, OutcomeKind
from waypost.channels.model import OutcomeReason as Why
from waypost.outbox.webhook_model import Answer, CallFault

_DEFERRED, _REJECTED = OutcomeKind.DEFERRED, OutcomeKind.REJECTED
_UNREACHABLE, _IN_DOUBT = OutcomeKind.UNREACHABLE, OutcomeKind.IN_DOUBT


class Row(NamedTuple):
    status: int
    said: str
    """Google's `reason`; empty for every other."""
    kind: OutcomeKind
    reason: Why
    pause: float | None = None
    """Seconds to wait where the answer itself asks for nothing."""


TABLE: Final = (
    Row(400, "failedPrecondition", _UNREACHABLE, Why.AUTHENTICATION),
    Row(400, "", _REJECTED, Why.CONTENT_REFUSED),
    Row(401, "", _UNREACHABLE, Why.AUTHENTICATION),
    Row(403, "rateLimitExceeded", _DEFERRED, Why.SLOW_DOWN),
    Row(403, "userRateLimitExceeded", _DEFERRED, Why.SLOW_DOWN),
    Row(403, "quotaExceeded", _DEFERRED, Why.SLOW_DOWN, 3600),
    Row(403, "dailyLimitExceeded", _DEFERRED, Why.SLOW_DOWN, 3600),
    Row(403, "", _UNREACHABLE, Why.AUTHENTICATION),
    Row(404, "", _UNREACHABLE, Why.AUTHENTICATION),
    Row(408, "", _UNREACHABLE, Why.TIMEOUT),
    Row(413, "", _REJECTED, Why.MESSAGE_TOO_LARGE),
    Row(429, "", _DEFERRED, Why.SLOW_DOWN),
    Row(500, "", _DEFERRED, Why.OTHER),
    Row(502, "", _IN_DOUBT, Why.CONNECTION),
    Row(503, "", _DEFERRED, Why.SLOW_DOWN),
    Row(504, "", _IN_DOUBT, Why.TIMEOUT),
)
_ROWS: Final = {(row.status, row.said): row for row in TABLE}
_FAULTS: Final = {
    CallFault.TIMEOUT: Why.TIMEOUT,
    CallFault.TLS: Why.TLS,
    CallFault.BROKEN: Why.CONNECTION,
    CallFault.UNREACHABLE: Why.CONNECTION,
    CallFault.UNRESOLVABLE: Why.CONNECTION,
    CallFault.PRIVATE_ADDRESS: Why.CONNECTION,
    CallFault.REFUSED_URL: Why.CONNECTION,
}
_BAD_RECIPIENT: Final = re.compile(r"(invalid|missing)[a-z ]{0,20}\b(to|cc|bcc|recipient)\b|recipient address", re.I)
_UNSHOWABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_RETRY_AFTER: Final = re.compile(r"retry after (\d{4}-\d\d-\d\dT[\d:.]{5,15}Z)", re.I)
_LONGEST_WORDS: Final = 1_000
_LONGEST_REFERENCE: Final = 200
_LONGEST_PAUSE: Final = 86_400.0


class _Detail(msgspec.Struct):
    reason: str = ""


class _Error(msgspec.Struct):
    message: str = ""
    errors: list[_Detail] = []
    status: str = ""


class _Refusal(msgspec.Struct):
    error: _Error


class _TokenRefusal(msgspec.Struct):
    error: str = ""
    error_description: str = ""


class _Sent(msgspec.Struct):
    id: str = ""


def outcome_of(answer: Answer, now: datetime) -> Outcome:
    """What the answer to an upload means."""
    status, latency = answer.status, answer.latency_ms
    if status is None:
        fault = answer.fault or CallFault.BROKEN
        kind = _IN_DOUBT if answer.sent else _UNREACHABLE
        return Outcome(kind=kind, reason=_FAULTS[fault], latency_ms=latency)
    if 200 <= status < 300:
        return Outcome(kind=OutcomeKind.ACCEPTED, code=status, reference=_reference(answer.body), latency_ms=latency)
    said, words = _said(answer.body)
    row = _ROWS.get((status, said)) or _ROWS.get((status, ""))
    if row is None:
        row = Row(status, "", _REJECTED, Why.OTHER) if 400 <= status < 500 else _row_of_the_unknown(status)
    reason = Why.ADDRESS_INVALID if status == 400 and _BAD_RECIPIENT.search(words) else row.reason
    return Outcome(
        kind=row.kind,
        reason=reason,
        code=status,
        reply=words_of(f"{status} {said} {words}"),
        latency_ms=latency,
        retry_after=asked_pause(answer.retry_after, words, now) or row.pause if row.kind is _DEFERRED else None,
    )


def token_refused(answer: Answer) -> Outcome:
    """What it means for a message that there is no token: never that it is in doubt."""
    if answer.status is None:
        return Outcome(kind=_UNREACHABLE, reason=_FAULTS[answer.fault or CallFault.BROKEN])
    if answer.status == 429 or answer.status >= 500:
        return Outcome(kind=_UNREACHABLE, reason=Why.CONNECTION, code=answer.status, reply="Google gave out no token.")
    if 400 <= answer.status < 500:
        refusal = _token_refusal(answer.body)
        words = words_of(f"{answer.status} {refusal.error} {refusal.error_description}")
        return Outcome(kind=_UNREACHABLE, reason=Why.AUTHENTICATION, code=answer.status, reply=words)
    return Outcome(kind=_UNREACHABLE, reason=Why.PROTOCOL, code=answer.status, reply="Google gave out no token.")


def asked_pause(header: str | None, words: str, now: datetime) -> float | None:
    """Seconds, from `Retry-After` or from the words that Gmail uses instead."""
    try:
        if header is not None and header.strip().isdecimal():
            seconds = float(header.strip()[:9])
        elif header is not None:
            seconds = (parsedate_to_datetime(header) - now).total_seconds()
        elif found := _RETRY_AFTER.search(words):
            seconds = (datetime.fromisoformat(found[1]) - now).total_seconds()
        else:
            return None
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 1.0), _LONGEST_PAUSE)


def words_of(text: str) -> str:
    """Foreign words: valid UTF-8, no control characters, bounded."""
    return _UNSHOWABLE.sub(" ", text).strip()[:_LONGEST_WORDS]


def _row_of_the_unknown(status: int) -> Row:
    kind, reason = (_IN_DOUBT, Why.CONNECTION) if status >= 500 else (_UNREACHABLE, Why.PROTOCOL)
    return Row(status, "", kind, reason)


def _said(body: bytes) -> tuple[str, str]:
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.DecodeError, UnicodeError):
        return "", ""
    return (error.errors[0].reason if error.errors else ""), error.message


def _token_refusal(body: bytes) -> _TokenRefusal:
    try:
        return msgspec.json.decode(body, type=_TokenRefusal)
    except (msgspec.DecodeError, UnicodeError):
        return _TokenRefusal()


def _reference(body: bytes) -> str | None:
    try:
        sent = msgspec.json.decode(body, type=_Sent)
    except (msgspec.DecodeError, UnicodeError):
        return None
    return words_of(sent.id)[:_LONGEST_REFERENCE] or None
