"""Pure decisions about what becomes of a claimed notification."""

from datetime import datetime, timedelta
from typing import Final

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.gate import Defer, Skip, SkipReason
from waypost.delivery.model import Claimed, Closed, Consequence, End, Ended, Held, Note, Returned, Settlement, State
from waypost.delivery.pause_book import Stop
from waypost.delivery.ports import ComposedForInbox, Withheld
from waypost.kernel.backoff import Random, delay
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vocabulary import Category
from waypost.suppression.model import SuppressionReason

DEAD_LETTER_CLAIMS: Final = 4
FIRST_CLAIM: Final = 200
FEWEST_CLAIMED: Final = 20
_SHORT_WAY: Final = 0.5
_LONG_WAY: Final = 2.0
"""Seconds that a batch may spend on the wire."""
GATE_MEMORY: Final = timedelta(days=7)
"""How far back `gate_changes` can be trusted; older submissions are asked about in full."""
GATE_SLACK: Final = timedelta(seconds=60)
"""A change counts from this long before submit: its transaction may have begun earlier than it was seen."""
DEAD: Final = Consequence(suppression=SuppressionReason.HARD_BOUNCE)
COUNTED: Final = {
    OutcomeReason.MAILBOX_DISABLED: Consequence(suppression=SuppressionReason.HARD_BOUNCE, times=2),
    OutcomeReason.MAILBOX_FULL: Consequence(
        suppression=SuppressionReason.SOFT_BOUNCE, times=3, lasts=timedelta(hours=24)
    ),
}
"""Of messages that ended so: refused for good, or put off until their time was over."""
_SPREAD: Final = 0.1
WORKER_LOST: Final = Outcome(kind=OutcomeKind.IN_DOUBT, reason=OutcomeReason.WORKER_LOST)


def fit_claim(size: int, seconds: float, most: int) -> int:
    """How many to claim at once, after so many were so long on the wire. Large batches cost less for each message; but
    what is claimed stands in nobody's line any more, and what is urgent waits behind it."""
    if seconds > _LONG_WAY:
        return min(max(size // 2, FEWEST_CLAIMED), most)
    return min(size * 2, most) if seconds < _SHORT_WAY else size


def may_be_sent_twice(category: Category) -> bool:
    """In doubt whether it went out, marketing is not repeated; everything else is, under the same Message-ID."""
    return category is not Category.MARKETING


def close(held: Held, outcome: Outcome, now: datetime, random: Random) -> Closed:
    """What a vendor's answer means for the notification."""
    match outcome.kind:
        case OutcomeKind.ACCEPTED:
            return Closed(held=held, outcome=outcome)
        case OutcomeKind.REJECTED:
            return Closed(held=held, outcome=outcome, end=End(state=State.FAILED, reason=_reason_of(outcome)))
        case OutcomeKind.DEFERRED | OutcomeKind.UNREACHABLE:
            return _try_again(held, outcome, now + _pause(held, outcome, random), State.EXPIRED)
        case OutcomeKind.IN_DOUBT:
            if not may_be_sent_twice(held.category):
                return Closed(held=held, outcome=outcome, end=_unconfirmed(outcome))
            lost = outcome.reason is OutcomeReason.WORKER_LOST
            return _try_again(held, outcome, now if lost else now + _pause(held, outcome, random), State.UNCONFIRMED)


def consequence_of(outcome: Outcome, end: End | None) -> Consequence | None:
    """What an ended message means for its address. What is about us never means anything."""
    if end is None or outcome.reason is None:
        return None
    return DEAD if outcome.hard_bounce else COUNTED.get(outcome.reason)


def _pause(held: Held, outcome: Outcome, random: Random) -> timedelta:
    """The vendor's own wish where it is the longer one, spread a little: all who were told would come back at once."""
    steps = delay(held.n, random)
    if outcome.retry_after is None:
        return steps
    return max(steps, timedelta(seconds=outcome.retry_after * (1 + _SPREAD * random())))


def _try_again(held: Held, outcome: Outcome, when: datetime, otherwise: State) -> Closed:
    if when < held.expires_at:
        claims = held.claims + 1 if outcome.reason is OutcomeReason.WORKER_LOST else 0
        return Closed(held=held, outcome=outcome, retry_at=when, claims=claims)
    end = _unconfirmed(outcome) if otherwise is State.UNCONFIRMED else End(state=otherwise, reason=_reason_of(outcome))
    return Closed(held=held, outcome=outcome, end=end)


def _unconfirmed(outcome: Outcome) -> End:
    return End(state=State.UNCONFIRMED, reason=_reason_of(outcome))


def _reason_of(outcome: Outcome) -> str:
    return (outcome.reason or OutcomeReason.OTHER).value


def stop_at_gate(held: Held, verdict: Skip | Defer) -> Settlement:
    if isinstance(verdict, Defer):
        note = Note(event="deferred", reason=verdict.rule, detail=_deferral(verdict))
        return Returned(held=held, due=verdict.until, claims=held.claims, note=note)
    note = Note(event="withheld", reason=verdict.reason.value, detail={"rule": verdict.rule, **verdict.fact})
    state = State.EXPIRED if verdict.reason is SkipReason.EXPIRED else State.SUPPRESSED
    return Ended(held=held, end=End(state=state, reason=verdict.reason.value), note=note)


def put_off(held: Held, verdict: Defer) -> Returned:
    """No sender account has room for it now. It comes again when one has, or when its time is over."""
    note = Note(event="deferred", reason=verdict.rule, detail=_deferral(verdict), once_a_day=True)
    return Returned(held=held, due=min(verdict.until, held.expires_at), claims=held.claims, note=note)


def _deferral(verdict: Defer) -> dict[str, JsonValue]:
    return {"rule": verdict.rule, "until": verdict.until.isoformat(), **verdict.fact}


def deliver_to_inbox(composed: ComposedForInbox) -> Closed:
    """Nothing goes over a wire: the settlement itself puts the message where it belongs, or nothing happens at all."""
    return Closed(held=composed.claimed, outcome=Outcome(kind=OutcomeKind.ACCEPTED), copy=composed.copy)


def withhold(held: Held, withheld: Withheld) -> Ended:
    note = Note(event="withheld", reason=withheld.reason, detail=withheld.detail)
    return Ended(held=held, end=End(state=withheld.state, reason=withheld.reason), note=note)


def bury(held: Held) -> Ended:
    """It has taken its worker down time and again."""
    return Ended(
        held=held,
        end=End(state=State.FAILED, reason="dead_letter"),
        note=Note(event="dead_letter", reason="dead_letter", detail={"claims": held.claims}),
    )


def give_back(held: Held, now: datetime, *, blamed: bool) -> Returned:
    """`blamed`: the claim ended without a word, and this row may be why."""
    return Returned(held=held, due=now, claims=held.claims + blamed)


def hold_back(held: Held, now: datetime, stop: Stop) -> Returned:
    """Something it belongs to is paused."""
    account = held.way.account_id if stop is Stop.ACCOUNT and held.way is not None else None
    return Returned(held=held, due=now, claims=held.claims, hold=stop is not Stop.LANE, account=account)


def needs_whole_gate(claimed: Claimed, now: datetime) -> bool:
    return claimed.gate_changed or claimed.data_key is None or claimed.expires_at <= now
