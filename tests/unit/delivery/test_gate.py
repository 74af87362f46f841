"""The gate: which rule speaks first, and what each says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.delivery.gate import ALLOWED, Allow, GateFacts, Skip, SkipReason, decide
from waypost.kernel.vocabulary import Category
from waypost.suppression.model import SuppressionReason

NOW = datetime(2026, 5, 1, tzinfo=UTC)
FINE = GateFacts(tenant_active=True, erased=False, address_status="active")
TOMORROW = NOW + timedelta(days=1)


def ask(facts: GateFacts, category: Category = Category.MARKETING, expires_at: datetime = TOMORROW) -> object:
    return decide(facts, category=category, expires_at=expires_at, now=NOW)


def test_nothing_objects() -> None:
    assert ask(FINE) == Allow()
    assert Allow().code == ALLOWED


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (replace(FINE, tenant_active=False), SkipReason.TENANT_INACTIVE),
        (replace(FINE, erased=True), SkipReason.RECIPIENT_ERASED),
        (replace(FINE, address_status=None), SkipReason.NO_ADDRESS),
        (replace(FINE, address_status="revoked"), SkipReason.ADDRESS_REVOKED),
        (replace(FINE, address_status="suppressed"), SkipReason.SUPPRESSED),
        (replace(FINE, suppressions=(SuppressionReason.HARD_BOUNCE,)), SkipReason.SUPPRESSED),
        (replace(FINE, suppressions=(SuppressionReason.OPT_OUT,)), SkipReason.OPTED_OUT),
    ],
)
def test_each_rule_objects(facts: GateFacts, reason: SkipReason) -> None:
    verdict = ask(facts)
    assert isinstance(verdict, Skip)
    assert verdict.reason is reason
    assert verdict.code == reason.code


def test_what_has_expired_is_skipped() -> None:
    verdict = ask(FINE, expires_at=NOW)
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.EXPIRED


@pytest.mark.parametrize("category", list(Category))
def test_an_opt_out_never_stops_what_people_rely_on(category: Category) -> None:
    verdict = ask(replace(FINE, suppressions=(SuppressionReason.OPT_OUT,)), category)
    assert isinstance(verdict, Skip) == (category in {Category.MARKETING, Category.REMINDER})


@given(
    reasons=st.lists(st.sampled_from(SuppressionReason), min_size=1, unique=True), category=st.sampled_from(Category)
)
def test_a_hard_reason_stops_every_category(reasons: list[SuppressionReason], category: Category) -> None:
    verdict = ask(replace(FINE, suppressions=tuple(reasons)), category)
    if set(reasons) != {SuppressionReason.OPT_OUT}:
        assert isinstance(verdict, Skip)
        assert verdict.reason is SkipReason.SUPPRESSED


def test_the_gravest_comes_first_when_several_object() -> None:
    everything_wrong = GateFacts(
        tenant_active=False, erased=True, address_status=None, suppressions=tuple(SuppressionReason)
    )
    verdict = ask(everything_wrong, expires_at=NOW)
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.TENANT_INACTIVE


def test_codes_are_stored_and_therefore_fixed() -> None:
    assert {reason.value: reason.code for reason in SkipReason} == {
        "tenant_inactive": 100,
        "expired": 101,
        "no_address": 102,
        "address_revoked": 103,
        "recipient_erased": 104,
        "suppressed": 105,
        "opted_out": 106,
    }
