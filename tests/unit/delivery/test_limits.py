"""Rate limits and the marketing cap, as a ledger keeps them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from waypost.delivery.limits import Cap, Counter, Ledger, Limits, Rate, Span, Subject, Whose
from waypost.kernel.vocabulary import Category, Channel

NOON = datetime(2026, 1, 15, 12, 0, 30, tzinfo=UTC)
JANE, JOHN = UUID(int=1), UUID(int=2)


def send(ledger: Ledger, who: UUID = JANE, category: Category = Category.TRANSACTIONAL) -> datetime | None:
    """None where it goes now; otherwise when there will be room."""
    facts = ledger.facts(Channel.EMAIL, who)
    if facts.full is None:
        ledger.take(Channel.EMAIL, who, category)
        return None
    ledger.plan(Channel.EMAIL, who)
    return facts.full.until


def test_without_limits_everything_goes() -> None:
    ledger = Ledger(Limits(), NOON)
    assert [send(ledger) for _ in range(100)] == [None] * 100
    assert not ledger.touched


def test_what_is_over_a_limit_waits_and_a_backlog_spreads_out() -> None:
    ledger = Ledger(Limits(tenant=Rate(minute=2)), NOON)
    waits = [send(ledger) for _ in range(7)]
    minute = timedelta(minutes=1)
    first = NOON.replace(second=0) + minute
    assert waits == [None, None, first, first, first + minute, first + minute, first + 2 * minute]


def test_a_new_window_has_room_again() -> None:
    ledger = Ledger(Limits(tenant=Rate(minute=1)), NOON)
    assert send(ledger) is None
    assert send(ledger) is not None
    later = Ledger(ledger.limits, NOON + timedelta(minutes=1), counters=ledger.counters)
    assert send(later) is None
    assert send(later) == NOON.replace(second=0) + timedelta(minutes=2)


def test_the_day_is_the_utc_day() -> None:
    late = datetime(2026, 1, 15, 23, 59, 59, tzinfo=UTC)
    ledger = Ledger(Limits(recipient=Rate(day=1)), late)
    assert send(ledger) is None
    assert send(ledger) == datetime(2026, 1, 16, tzinfo=UTC)
    assert send(ledger, JOHN) is None


def test_the_longest_wait_of_several_limits_decides() -> None:
    limits = Limits(tenant=Rate(minute=1), channels={"email": Rate(day=1)}, recipient=Rate(minute=5))
    ledger = Ledger(limits, NOON)
    assert send(ledger) is None
    facts = ledger.facts(Channel.EMAIL, JANE)
    assert facts.full is not None
    assert (facts.full.whose, facts.full.span, facts.full.until) == (
        Whose.CHANNEL,
        Span.DAY,
        datetime(2026, 1, 16, tzinfo=UTC),
    )
    sms = ledger.facts(Channel.SMS, JANE)
    assert sms.full is not None
    assert sms.full.whose is Whose.TENANT


def test_the_cap_slides() -> None:
    limits = Limits(marketing_cap=Cap(max=2, seconds=3600))
    ledger = Ledger(limits, NOON)
    for minutes, capped in ((0, False), (30, False), (59, True), (61, False), (62, True)):
        ledger = Ledger(limits, NOON + timedelta(minutes=minutes), marks=ledger.marks)
        assert ledger.facts(Channel.EMAIL, JANE).is_capped is capped, minutes
        if not capped:
            ledger.take(Channel.EMAIL, JANE, Category.MARKETING)
    assert not ledger.facts(Channel.EMAIL, JOHN).is_capped


def test_only_marketing_counts_for_the_cap() -> None:
    ledger = Ledger(Limits(marketing_cap=Cap(max=1, seconds=60)), NOON)
    ledger.take(Channel.EMAIL, JANE, Category.TRANSACTIONAL)
    assert ledger.facts(Channel.EMAIL, JANE).marketing_sent == 0


@given(
    limit=st.integers(1, 5),
    steps=st.lists(st.tuples(st.integers(0, 90), st.integers(1, 6)), max_size=20),
)
def test_no_window_ever_holds_more_than_its_limit(limit: int, steps: list[tuple[int, int]]) -> None:
    counters: dict[Subject, Counter] = {}
    sent: dict[datetime, int] = {}
    now = NOON
    for seconds, burst in steps:
        now += timedelta(seconds=seconds)
        ledger = Ledger(Limits(tenant=Rate(minute=limit)), now, counters=counters)
        for _ in range(burst):
            room = send(ledger)
            assert room is None or room > now
            if room is None:
                window = now.replace(second=0)
                sent[window] = sent.get(window, 0) + 1
    assert all(count <= limit for count in sent.values())
