"""When an account is stopped, and how long it rests after its server could not be reached. Pure."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.senders.model import AccountStatus, Day, StatusReason, Tally

MOST_BOUNCED: Final = 0.05
MOST_ERRORS: Final = 0.10
MOST_IN_A_ROW: Final = 10
SMALLEST_SAMPLE: Final = 50
"""Rates of fewer messages say nothing."""
_FIRST_REST: Final = timedelta(seconds=5)
_LONGEST_REST: Final = timedelta(minutes=5)
_ABOUT_THE_ADDRESS: Final = frozenset(
    {
        OutcomeReason.ADDRESS_UNKNOWN,
        OutcomeReason.ADDRESS_INVALID,
        OutcomeReason.MAILBOX_DISABLED,
        OutcomeReason.MAILBOX_FULL,
    }
)


def tally_of(outcome: Outcome) -> Tally:
    """What an answer means for the account. What the server did not take comes again, and is not counted twice."""
    match outcome.kind:
        case OutcomeKind.ACCEPTED:
            return Tally.SENT
        case OutcomeKind.REJECTED:
            about_the_address = outcome.hard_bounce or outcome.reason in _ABOUT_THE_ADDRESS
            return Tally.BOUNCED if about_the_address else Tally.REFUSED
        case OutcomeKind.DEFERRED:
            return Tally.AWAY if outcome.reason is OutcomeReason.AUTHENTICATION else Tally.DEFERRED
        case OutcomeKind.UNREACHABLE:
            return Tally.AWAY
        case OutcomeKind.IN_DOUBT:
            return Tally.IN_DOUBT


def verdict(
    day: Day, consecutive_errors: int, reasons: Iterable[OutcomeReason]
) -> tuple[AccountStatus, StatusReason] | None:
    """What must become of an active account; None: it goes on. `reasons`: why messages of the last batch failed."""
    if OutcomeReason.AUTHENTICATION in reasons:
        return AccountStatus.SUSPENDED, StatusReason.AUTHENTICATION
    if consecutive_errors >= MOST_IN_A_ROW:
        return AccountStatus.PAUSED, StatusReason.ERRORS_IN_A_ROW
    if day.answered >= SMALLEST_SAMPLE:
        if day.bounced > MOST_BOUNCED * day.answered:
            return AccountStatus.PAUSED, StatusReason.BOUNCE_RATE
        if day.errors > MOST_ERRORS * day.answered:
            return AccountStatus.PAUSED, StatusReason.ERROR_RATE
    return None


def rest_after(consecutive_errors: int) -> timedelta:
    """How long nothing is tried after a batch that found the server away: an outage must not cost attempts."""
    return min(_FIRST_REST * 2 ** min(max(consecutive_errors - 1, 0), 10), _LONGEST_REST)


def troubled(day: Day) -> float:
    return (day.bounced + day.errors) / day.answered if day.answered >= SMALLEST_SAMPLE else 0.0
