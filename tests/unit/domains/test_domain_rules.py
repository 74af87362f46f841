"""Who may send as whom, what checks lead to, and how keys take over from each other."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.domains.model import (
    HELD,
    TRANSITIONS,
    Algorithm,
    Check,
    CheckName,
    CheckResult,
    DkimKey,
    Domain,
    DomainState,
    HeldDomain,
    KeyState,
    Purpose,
    Standing,
)
from waypost.domains.ports import DomainEvent
from waypost.domains.rules import (
    GRACE,
    LEAST_FAILURES,
    Places,
    choose_return_path,
    judge,
    may_send_as,
    read_name,
    turn_keys,
    verdict_of,
)
from waypost.kernel.errors import Refused
from waypost.kernel.vocabulary import TenantMode

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
PLACES = Places(
    message_domain="waypost.example",
    default_from="Waypost <Hello@Waypost.example>",
    return_path_host="return.waypost.example",
    tracking_host="track.waypost.example",
)


def key(number: int, state: KeyState, algorithm: Algorithm = Algorithm.RSA, **fields: object) -> DkimKey:
    made = DkimKey(
        id=UUID(int=number),
        algorithm=algorithm,
        selector=f"s{number}",
        public_key="p",
        private_key=b"",
        state=state,
        found=state is KeyState.ACTIVE or None,
        created_at=NOW,
        active_at=NOW if state is KeyState.ACTIVE else None,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def domain(state: DomainState = DomainState.PENDING, *keys: DkimKey, **fields: object) -> Domain:
    made = Domain(
        id=UUID(int=7),
        name="example.com",
        purposes=frozenset({Purpose.FROM}),
        state=state,
        proof="proof",
        keys=keys,
        checks=(),
        failures=0,
        overlap_days=7,
        checked_at=None,
        verified_at=None if state is DomainState.PENDING else NOW,
        failing_since=None,
        next_check_at=NOW,
        version=1,
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def said(result: CheckResult, *, required: bool = True) -> Check:
    return Check(name=CheckName.DKIM, result=result, required=required, said="")


def live(*held: HeldDomain) -> Standing:
    return Standing(mode=TenantMode.LIVE, domains=held)


OWN = HeldDomain(name="example.com", purposes=frozenset({Purpose.FROM}))
LINKS = HeldDomain(name="links.example.com", purposes=frozenset({Purpose.TRACKING}))


@pytest.mark.parametrize(
    ("sender", "allowed"),
    [
        (None, True),
        ("jane@example.com", True),
        ("Jane <JANE@Example.COM>", True),
        ("hello@waypost.example", True),
        ("Acme by any name <hello@waypost.example>", True),
        ("ceo@waypost.example", False),
        ("hello+x@waypost.example", False),
        ("jane@mail.example.com", False),
        ("jane@notexample.com", False),
        ("jane@example.com.evil.example", False),
        ("jane@links.example.com", False),
        ("jane@gmail.com", False),
        ("jane@example.com, ceo@bank.example", False),
        ("jane@example.com <ceo@bank.example>", False),
        ("", False),
        ("jane", False),
    ],
)
def test_a_live_tenant_speaks_as_itself_only(sender: str | None, allowed: bool) -> None:
    assert may_send_as(sender, live(OWN, LINKS), PLACES.default_address) is allowed


def test_a_sandbox_tenant_may_write_what_it_likes() -> None:
    assert may_send_as("ceo@bank.example", Standing(mode=TenantMode.SANDBOX, domains=()), PLACES.default_address)


def test_letters_that_look_alike_are_other_domains() -> None:
    assert not may_send_as("jane@ex\N{CYRILLIC SMALL LETTER A}mple.com", live(OWN), PLACES.default_address)
    bücher = HeldDomain(name="xn--bcher-kva.example", purposes=frozenset({Purpose.FROM}))
    assert may_send_as("jane@Bücher.example", live(bücher), PLACES.default_address)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("mail.example.co.uk", "mail.example.co.uk"),
        ("acme.test", "acme.test"),
    ],
)
def test_names_have_one_spelling(given: str, name: str) -> None:
    assert read_name(given) == name
    assert read_name(name) == name


@pytest.mark.parametrize(
    "given",
    ["", "com", "localhost", "waypost.localhost", "a b.example", "jane@example.com", "_x.example.com", "-a.example",
     "192.0.2.1", "[192.0.2.1]", "example.com/x", "*.example.com", "x" * 64 + ".example", "a." * 120 + "example",
     "example..com", "example.com\n", "exa\u202emple.com", "printer.local", "x.invalid"],
)  # fmt: skip
def test_what_is_no_public_name_is_refused(given: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_name(given)
    assert refusal.value.code == "invalid_domain"


def test_the_operators_names_are_reserved() -> None:
    assert PLACES.default_address == "hello@waypost.example"
    assert PLACES.reserved == {"waypost.example", "return.waypost.example", "track.waypost.example"}


@pytest.mark.parametrize(
    ("sender", "held", "chosen"),
    [
        ("example.com", (), None),
        ("example.com", ("bounce.other.example", "bounce.example.com"), "bounce.example.com"),
        ("news.example.com", ("a.other.example", "example.com"), "example.com"),
        ("third.example", ("bb.example", "a.example"), "a.example"),
        (None, ("a.example",), "a.example"),
    ],
)
def test_returns_go_to_the_nearest(sender: str | None, held: tuple[str, ...], chosen: str | None) -> None:
    assert choose_return_path(sender, held) == chosen


def test_one_failure_decides_and_advice_does_not_count() -> None:
    passed, failed, unknown = CheckResult.PASSED, CheckResult.FAILED, CheckResult.UNKNOWN
    assert verdict_of([said(passed), said(unknown), said(failed)]) is failed
    assert verdict_of([said(passed), said(unknown)]) is unknown
    assert verdict_of([said(passed), said(failed, required=False), said(unknown, required=False)]) is passed


def test_the_life_of_a_domain() -> None:
    first, event = judge(domain(), [said(CheckResult.PASSED)], NOW, taken=False)
    assert (first.state, event) == (DomainState.VERIFIED, DomainEvent.VERIFIED)
    assert first.next_check_at == NOW + DAY
    again, event = judge(first, [said(CheckResult.PASSED)], NOW + DAY, taken=False)
    assert (again.state, event, again.verified_at) == (DomainState.VERIFIED, None, NOW)

    states, now = [], NOW + DAY
    for _ in range(5):
        again, event = judge(again, [said(CheckResult.FAILED)], now, taken=False)
        states.append((again.state, event))
        now += DAY
    assert states == [
        (DomainState.FAILING, DomainEvent.FAILING),
        (DomainState.FAILING, None),
        (DomainState.FAILING, None),
        (DomainState.FAILED, DomainEvent.FAILED),
        (DomainState.FAILED, None),
    ]
    back, event = judge(again, [said(CheckResult.PASSED)], now, taken=False)
    assert (back.state, event, back.failures, back.failing_since) == (
        DomainState.VERIFIED,
        DomainEvent.VERIFIED,
        0,
        None,
    )


def test_impatience_does_not_shorten_the_grace() -> None:
    one, _ = judge(domain(DomainState.VERIFIED), [said(CheckResult.FAILED)], NOW, taken=False)
    for minute in range(50):
        one, event = judge(one, [said(CheckResult.FAILED)], NOW + timedelta(minutes=minute), taken=False)
        assert (one.state, event) == (DomainState.FAILING, None)


def test_what_is_held_by_another_is_not_verified_and_stays_with_its_holder() -> None:
    claimed, event = judge(domain(), [said(CheckResult.PASSED)], NOW, taken=True)
    assert (claimed.state, event) == (DomainState.PENDING, None)
    assert [check.name for check in claimed.checks if check.result is CheckResult.FAILED] == [CheckName.EXCLUSIVE]
    lost, event = judge(domain(DomainState.FAILED), [said(CheckResult.PASSED)], NOW, taken=True)
    assert (lost.state, event) == (DomainState.FAILED, None)


results = st.sampled_from(CheckResult)


@given(st.lists(st.tuples(results, st.booleans(), st.integers(0, 72)), max_size=30))
def test_whatever_happens_it_goes_only_where_it_may(steps: list[tuple[CheckResult, bool, int]]) -> None:
    one, now, failed_in_a_row = domain(), NOW, 0
    for result, taken, hours in steps:
        now += timedelta(hours=hours)
        after, event = judge(one, [said(result)], now, taken=taken)
        if after.state is not one.state:
            assert after.state in TRANSITIONS[one.state]
            assert event is not None
        else:
            assert event is None
        if result is CheckResult.UNKNOWN:
            assert after.state is one.state, "a name server that is silent proves nothing"
        failed_in_a_row = {CheckResult.FAILED: failed_in_a_row + 1, CheckResult.PASSED: 0}.get(result, failed_in_a_row)
        if one.state in HELD and after.state is DomainState.FAILED:
            assert failed_in_a_row >= LEAST_FAILURES
            assert one.failing_since is not None
            assert now - one.failing_since >= GRACE
        assert after.next_check_at > now
        one = after


def test_a_key_signs_once_its_record_is_seen_and_the_old_one_retires() -> None:
    old, new = key(1, KeyState.ACTIVE), key(2, KeyState.NEXT)
    waiting = turn_keys(domain(DomainState.VERIFIED, old, new), [True, False], NOW)
    assert [one.state for one in waiting.keys] == [KeyState.ACTIVE, KeyState.NEXT]
    turned = turn_keys(waiting, [True, True], NOW + DAY)
    assert [one.state for one in turned.keys] == [KeyState.RETIRED, KeyState.ACTIVE]
    assert turned.keys[0].retired_until == NOW + 8 * DAY
    kept = turn_keys(turned, [True, True], NOW + 7 * DAY)
    assert [one.state for one in kept.keys] == [KeyState.RETIRED, KeyState.ACTIVE]
    assert [one.id.int for one in turn_keys(kept, [True, True], NOW + 8 * DAY).keys] == [2]


def test_keys_of_the_two_kinds_take_over_on_their_own() -> None:
    keys = (
        key(1, KeyState.ACTIVE), key(2, KeyState.ACTIVE, Algorithm.ED25519),
        key(3, KeyState.NEXT), key(4, KeyState.NEXT, Algorithm.ED25519),
    )  # fmt: skip
    turned = turn_keys(domain(DomainState.VERIFIED, *keys), [True, True, False, True], NOW)
    assert [one.state for one in turned.keys] == [
        KeyState.ACTIVE, KeyState.RETIRED, KeyState.NEXT, KeyState.ACTIVE,
    ]  # fmt: skip


def test_a_key_whose_record_has_gone_signs_no_more_where_another_does() -> None:
    keys = (key(1, KeyState.ACTIVE), key(2, KeyState.ACTIVE, Algorithm.ED25519))
    turned = turn_keys(domain(DomainState.VERIFIED, *keys), [True, False], NOW)
    assert [one.state for one in turned.keys] == [KeyState.ACTIVE, KeyState.NEXT]
    both_gone = turn_keys(domain(DomainState.VERIFIED, *keys), [False, False], NOW)
    assert [one.state for one in both_gone.keys] == [KeyState.ACTIVE, KeyState.ACTIVE]
    nobody_said = turn_keys(domain(DomainState.VERIFIED, *keys), [None, None], NOW)
    assert [one.state for one in nobody_said.keys] == [KeyState.ACTIVE, KeyState.ACTIVE]
