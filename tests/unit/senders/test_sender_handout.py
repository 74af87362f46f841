"""Handing out: whatever comes in whatever order, no limit is passed and everybody who waits has a time."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waypost.senders.capacity import Handout, Rule, midnight_after, remaining
from waypost.senders.model import AccountStatus, Day, Standing

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
BATCHES = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.sampled_from(["gmail", "yahoo", "acme.example"]),
        st.integers(0, 40_000),
        st.floats(0, 1),
    ),
    max_size=25,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    batches=BATCHES,
    daily_limit=st.none() | st.integers(1, 100),
    per_hour=st.none() | st.integers(1, 30),
    delay_ms=st.sampled_from([0, 500, 60_000]),
    batch_size=st.integers(1, 20),
)
def test_no_limit_is_passed_and_nothing_is_lost(
    account: Any, batches: Any, daily_limit: int | None, per_hour: int | None, delay_ms: int, batch_size: int
) -> None:
    limits = {} if per_hour is None else {"gmail": per_hour}
    one = account(daily_limit=daily_limit, provider_limits=limits, delay_ms=delay_ms, batch_size=batch_size)
    standing = Standing(account=one, state=_no_state(), today=Day(day=NOON.date()))
    now, by_day, by_hour = NOON, dict[object, int](), dict[datetime, int]()
    for count, provider, pause, unused in batches:
        now += timedelta(seconds=pause)
        today = standing.today if standing.today.day == now.date() else Day(day=now.date())
        out = Handout(Standing(account=one, state=standing.state, today=today, paces=standing.paces), now)
        for _ in range(count):
            rule = out.let_go(uuid4(), provider)
            if rule is not None:
                assert out.put_off(rule, provider) >= now
        out.close()
        went = len(out.going)
        given_back = int(went * unused)
        by_day[now.date()] = by_day.get(now.date(), 0) + went - given_back
        if provider == "gmail":
            hour = now.replace(minute=0, second=0)
            by_hour[hour] = by_hour.get(hour, 0) + went
        assert delay_ms == 0 or went <= batch_size
        reserved = today.reserved + went
        assert daily_limit is None or reserved <= daily_limit
        standing = Standing(
            account=one,
            state=out.state,
            today=Day(day=now.date(), reserved=reserved - given_back),
            paces=tuple(out.paces.values()),
        )
    assert daily_limit is None or all(count <= daily_limit for count in by_day.values())
    assert per_hour is None or all(count <= per_hour for count in by_hour.values())


def _no_state() -> Any:
    from waypost.senders.model import AccountState

    return AccountState()


def test_whoever_waits_for_a_person_asks_again_spread_over_minutes(standing: Any) -> None:
    out = Handout(standing(status=AccountStatus.SUSPENDED), NOON)
    moments = []
    for _ in range(100):
        assert out.let_go(uuid4(), "gmail") is Rule.PAUSED
        moments.append(out.put_off(Rule.PAUSED, "gmail"))
    assert min(moments) >= NOON + timedelta(minutes=5)
    assert max(moments) < NOON + timedelta(minutes=10)
    assert len(set(moments)) == 100


def test_the_day_ends_at_midnight_in_utc(standing: Any) -> None:
    assert midnight_after(NOON) == datetime(2026, 1, 16, tzinfo=UTC)
    assert midnight_after(datetime(2026, 12, 31, 23, 59, tzinfo=UTC)) == datetime(2027, 1, 1, tzinfo=UTC)
    full = standing(daily_limit=3, reserved=5)
    assert remaining(full.account, full.today) == 0
