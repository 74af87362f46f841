"""What becomes of a message after a vendor's word, for every outcome, category and moment."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.gate import Defer, Skip, SkipReason
from waypost.delivery.model import Consequence, Ended, Held, Returned, State
from waypost.delivery.ports import Withheld
from waypost.delivery.rules import (
    COUNTED,
    DEAD,
    FEWEST_CLAIMED,
    FIRST_CLAIM,
    WORKER_LOST,
    bury,
    close,
    consequence_of,
    fit_claim,
    give_back,
    stop_at_gate,
    withhold,
)
from waypost.kernel.backoff import DELIVERY_STEPS, delay
from waypost.kernel.vocabulary import Category, Channel, Priority, retention_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def held(category: Category = Category.TRANSACTIONAL, n: int = 1, claims: int = 0, hours: float = 24) -> Held:
    return Held(
        tenant_id="acme",
        id=UUID(int=1),
        retention=retention_of(category),
        n=n,
        claims=claims,
        channel=Channel.EMAIL,
        category=category,
        priority=Priority.NORMAL,
        expires_at=NOW + timedelta(hours=hours),
    )


def outcome(kind: OutcomeKind, reason: OutcomeReason | None = OutcomeReason.OTHER) -> Outcome:
    return Outcome(kind=kind, reason=None if kind is OutcomeKind.ACCEPTED else reason)


categories = st.sampled_from(Category)
outcomes = st.builds(outcome, st.sampled_from(OutcomeKind), st.sampled_from(OutcomeReason))
fractions = st.floats(0, 1, exclude_max=True)


@given(category=categories, n=st.integers(1, 30), hours=st.floats(0, 200), said=outcomes, fraction=fractions)
def test_every_outcome_leads_to_exactly_one_of_sent_again_or_ended(
    category: Category, n: int, hours: float, said: Outcome, fraction: float
) -> None:
    closed = close(held(category, n, hours=hours), said, NOW, lambda: fraction)
    accepted = said.kind is OutcomeKind.ACCEPTED
    assert (accepted, closed.retry_at is not None, closed.end is not None).count(True) == 1
    if closed.retry_at is not None:
        assert NOW <= closed.retry_at < closed.held.expires_at


@given(category=categories, said=outcomes, fraction=fractions)
def test_marketing_in_doubt_is_never_sent_again(category: Category, said: Outcome, fraction: float) -> None:
    closed = close(held(category), said, NOW, lambda: fraction)
    if said.kind is OutcomeKind.IN_DOUBT:
        assert (closed.retry_at is None) == (category is Category.MARKETING)


def test_a_refusal_fails_with_the_vendors_reason() -> None:
    closed = close(held(), outcome(OutcomeKind.REJECTED, OutcomeReason.CONTENT_REFUSED), NOW, lambda: 0.5)
    assert closed.end is not None
    assert (closed.end.state, closed.end.reason) == (State.FAILED, "content_refused")


def test_retries_that_would_come_too_late_expire() -> None:
    closed = close(held(hours=0.001), outcome(OutcomeKind.UNREACHABLE, OutcomeReason.CONNECTION), NOW, lambda: 0.9)
    assert closed.end is not None
    assert (closed.end.state, closed.end.reason) == (State.EXPIRED, "connection")


@given(asked=st.floats(0, 200_000), n=st.integers(1, 10), fraction=fractions)
def test_a_vendors_wish_is_honoured_and_never_beyond_the_end(asked: float, n: int, fraction: float) -> None:
    said = structs.replace(outcome(OutcomeKind.DEFERRED, OutcomeReason.SLOW_DOWN), retry_after=asked)
    closed = close(held(n=n, hours=24), said, NOW, lambda: fraction)
    if closed.retry_at is None:
        assert closed.end is not None
        assert closed.end.state is State.EXPIRED
        assert asked * 1.1 >= 24 * 3600 - 1
    else:
        assert closed.retry_at >= NOW + timedelta(seconds=asked)
        assert closed.retry_at < closed.held.expires_at


@pytest.mark.parametrize(
    ("said", "consequence"),
    [
        (Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.ADDRESS_UNKNOWN, hard_bounce=True), DEAD),
        (Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.ADDRESS_UNKNOWN), None),
        (
            Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.MAILBOX_DISABLED),
            COUNTED[OutcomeReason.MAILBOX_DISABLED],
        ),
        (Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.MAILBOX_FULL), COUNTED[OutcomeReason.MAILBOX_FULL]),
        *(
            (Outcome(kind=OutcomeKind.REJECTED, reason=reason), None)
            for reason in OutcomeReason
            if reason not in COUNTED
        ),
    ],
)
def test_what_a_refusal_means_for_the_address(said: Outcome, consequence: Consequence | None) -> None:
    closed = close(held(), said, NOW, lambda: 0.5)
    assert consequence_of(closed.outcome, closed.end) == consequence


def test_a_full_mailbox_counts_when_its_message_ends_and_not_before() -> None:
    full = outcome(OutcomeKind.DEFERRED, OutcomeReason.MAILBOX_FULL)
    waiting, over = close(held(), full, NOW, lambda: 0.5), close(held(hours=0), full, NOW, lambda: 0.5)
    assert consequence_of(full, waiting.end) is None
    assert consequence_of(full, over.end) == COUNTED[OutcomeReason.MAILBOX_FULL]


def test_doubt_that_cannot_be_resolved_in_time_is_unconfirmed() -> None:
    closed = close(held(hours=0), WORKER_LOST, NOW, lambda: 0.5)
    assert closed.end is not None
    assert closed.end.state is State.UNCONFIRMED


def test_after_a_lost_worker_it_goes_again_at_once_and_the_claim_counts() -> None:
    closed = close(held(claims=1), WORKER_LOST, NOW, lambda: 0.5)
    assert (closed.retry_at, closed.claims) == (NOW, 2)


def test_after_a_vendors_word_the_count_of_silent_claims_starts_anew() -> None:
    closed = close(held(claims=3), outcome(OutcomeKind.DEFERRED, OutcomeReason.SLOW_DOWN), NOW, lambda: 0.5)
    assert closed.claims == 0


@pytest.mark.parametrize(("blamed", "claims"), [(True, 3), (False, 2)])
def test_giving_back(blamed: bool, claims: int) -> None:
    assert give_back(held(claims=2), NOW, blamed=blamed) == Returned(held=held(claims=2), due=NOW, claims=claims)


def test_the_gates_verdict_becomes_a_settlement() -> None:
    skipped = stop_at_gate(held(), Skip(reason=SkipReason.OPTED_OUT, rule="opt_out", fact={"category": "marketing"}))
    assert isinstance(skipped, Ended)
    assert (skipped.end.state, skipped.note.event) == (State.SUPPRESSED, "withheld")
    assert skipped.note.detail == {"rule": "opt_out", "category": "marketing"}
    expired = stop_at_gate(held(), Skip(reason=SkipReason.EXPIRED, rule="expiry"))
    assert isinstance(expired, Ended)
    assert expired.end.state is State.EXPIRED
    until = NOW + timedelta(hours=8)
    deferred = stop_at_gate(held(claims=1), Defer(until=until, rule="quiet_hours"))
    assert deferred.note is not None
    assert deferred.note.detail == {"rule": "quiet_hours", "until": until.isoformat()}
    assert isinstance(deferred, Returned)
    assert (deferred.due, deferred.claims) == (until, 1)


def test_what_cannot_be_composed_ends_with_its_reason() -> None:
    ended = withhold(held(), Withheld(state=State.FAILED, reason="render_failed", detail={"message": "x"}))
    assert (ended.end.state, ended.end.reason) == (State.FAILED, "render_failed")


def test_dead_letters_say_how_often_they_were_claimed() -> None:
    assert bury(held(claims=4)).note.detail == {"claims": 4}


@given(tries=st.integers(1, 100), fraction=fractions)
def test_waits_lie_between_a_second_and_their_step(tries: int, fraction: float) -> None:
    step = DELIVERY_STEPS[min(tries, len(DELIVERY_STEPS)) - 1]
    assert timedelta(seconds=1) <= delay(tries, lambda: fraction) <= step


@given(st.integers(1, 5_000), st.lists(st.floats(0, 60), max_size=40))
def test_claims_fit_what_the_way_out_takes(most: int, ways: list[float]) -> None:
    size = min(FIRST_CLAIM, most)
    for seconds in ways:
        before, size = size, fit_claim(size, seconds, most)
        assert min(FEWEST_CLAIMED, most) <= size <= most
        assert size >= before or seconds > 2
        assert size <= before or seconds < 0.5 or before < FEWEST_CLAIMED
    for _ in range(10):
        size = fit_claim(size, 3.0, most)
    assert size == min(FEWEST_CLAIMED, most)
    for _ in range(10):
        size = fit_claim(size, 0.1, most)
    assert size == most
