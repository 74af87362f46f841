"""The gate: which rule speaks first, what each says, and what never happens whatever the facts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.delivery.gate import (
    ALLOWED,
    RULES,
    Allow,
    Defer,
    GateFacts,
    Question,
    Skip,
    SkipReason,
    Verdict,
    decide,
    walk,
)
from waypost.delivery.gate_model import NoRoom
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.preferences.model import ChannelChoice, ConsentPolicy, ConsentState, Policy, QuietHours
from waypost.preferences.rules import TopicFacts
from waypost.suppression.model import OptOut, SuppressionReason
from waypost.suppression.rules import HARD

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
FINE = GateFacts(tenant_active=True, erased=False, address_status="active", consent=ConsentState.GRANTED)
NEWS = TopicFacts(key="news", mandatory=False, on_by_default=True)
NIGHT = QuietHours(start=22 * 60, end=7 * 60)
TOMORROW = NOW + timedelta(days=1)
RELIED_ON = {Category.TRANSACTIONAL, Category.SECURITY, Category.OPERATIONAL, Category.SYSTEM}


def ask(facts: GateFacts, category: Category = Category.MARKETING, **said: Any) -> Verdict:
    return decide(facts, **{"category": category, "expires_at": TOMORROW, "now": NOW, **said})


def reason_of(verdict: Verdict) -> SkipReason | None:
    return verdict.reason if isinstance(verdict, Skip) else None


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
        (replace(FINE, platform_suppressed=True), SkipReason.SUPPRESSED),
        (replace(FINE, opt_outs=(OptOut(),)), SkipReason.OPTED_OUT),
        (replace(FINE, topic=NEWS, opt_outs=(OptOut(topic="news"),)), SkipReason.OPTED_OUT),
        (replace(FINE, choice=ChannelChoice(enabled=False)), SkipReason.CHANNEL_OFF),
        (replace(FINE, policy=Policy(channels={Channel.EMAIL: False})), SkipReason.CHANNEL_OFF),
        (replace(FINE, choice=ChannelChoice(categories={Category.MARKETING: False})), SkipReason.CATEGORY_OFF),
        (replace(FINE, topic=NEWS, choice=ChannelChoice(topics={"news": False})), SkipReason.TOPIC_OFF),
        (replace(FINE, topic=TopicFacts(key="n", mandatory=False, on_by_default=False)), SkipReason.TOPIC_OFF),
        (replace(FINE, consent=ConsentState.NONE), SkipReason.NO_CONSENT),
        (replace(FINE, consent=ConsentState.PENDING), SkipReason.NO_CONSENT),
    ],
)
def test_each_rule_objects(facts: GateFacts, reason: SkipReason) -> None:
    verdict = ask(facts)
    assert isinstance(verdict, Skip)
    assert verdict.reason is reason
    assert verdict.code == reason.code


def test_the_platform_is_named_and_nothing_more_is_said() -> None:
    verdict = ask(replace(FINE, platform_suppressed=True))
    assert isinstance(verdict, Skip)
    assert verdict.fact == {"suppression": "platform"}


def test_where_no_account_has_room_it_waits_but_never_past_its_end() -> None:
    full = replace(FINE, no_room=NoRoom(rule="sender_limit", account="acc_1", until=NOW + timedelta(hours=12)))
    for end, until in ((TOMORROW, NOW + timedelta(hours=12)), (NOW + timedelta(hours=1), NOW + timedelta(hours=1))):
        verdict = ask(full, expires_at=end)
        assert verdict == Defer(until=until, rule="sender_limit", fact={"sender_account": "acc_1"})


def test_what_has_expired_is_skipped() -> None:
    assert reason_of(ask(FINE, expires_at=NOW)) is SkipReason.EXPIRED


@pytest.mark.parametrize("category", list(Category))
@pytest.mark.parametrize("reminders", [True, False])
def test_an_opt_out_never_stops_what_people_rely_on(category: Category, reminders: bool) -> None:
    facts = replace(FINE, opt_outs=(OptOut(),), policy=Policy(opt_out_stops_reminders=reminders))
    stopped = category is Category.MARKETING or (reminders and category is Category.REMINDER)
    assert isinstance(ask(facts, category), Skip) == stopped


def test_an_opt_out_is_about_its_topic_and_spares_what_was_consented_to_since() -> None:
    other = TopicFacts(key="offers", mandatory=False, on_by_default=True)
    assert ask(replace(FINE, topic=other, opt_outs=(OptOut(topic="news"),))) == Allow()
    assert ask(replace(FINE, opt_outs=(OptOut(topic="news"),))) == Allow()
    spared = OptOut(spared=frozenset({"news"}))
    assert ask(replace(FINE, topic=NEWS, opt_outs=(spared,))) == Allow()
    assert reason_of(ask(replace(FINE, topic=other, opt_outs=(spared,)))) is SkipReason.OPTED_OUT


def test_a_mandatory_topic_passes_every_switch() -> None:
    billing = TopicFacts(key="billing", mandatory=True, on_by_default=True)
    off = ChannelChoice(enabled=False, topics={"billing": False}, categories={Category.OPERATIONAL: False})
    assert ask(replace(FINE, topic=billing, choice=off), Category.OPERATIONAL) == Allow()


@pytest.mark.parametrize("category", list(Category))
def test_no_switch_of_a_channel_stops_what_is_essential(category: Category) -> None:
    verdict = ask(replace(FINE, choice=ChannelChoice(enabled=False)), category)
    essential = category in {Category.TRANSACTIONAL, Category.SECURITY, Category.SYSTEM}
    assert isinstance(verdict, Allow) == essential


def test_a_choice_about_a_topic_wins_over_one_about_its_category() -> None:
    choice = ChannelChoice(categories={Category.MARKETING: False}, topics={"news": True})
    assert ask(replace(FINE, topic=NEWS, choice=choice)) == Allow()


@pytest.mark.parametrize("state", list(ConsentState))
@pytest.mark.parametrize("policy", list(ConsentPolicy))
def test_only_marketing_needs_consent(state: ConsentState, policy: ConsentPolicy) -> None:
    facts = replace(FINE, consent=state, policy=Policy(consent_policy=policy))
    enough = {ConsentState.GRANTED} | ({ConsentState.NONE} if policy is ConsentPolicy.IMPLIED else set())
    assert isinstance(ask(facts), Allow) == (state in enough)
    assert all(isinstance(ask(facts, category), Allow) for category in Category if category is not Category.MARKETING)


@pytest.mark.parametrize("category", list(Category))
@pytest.mark.parametrize("priority", list(Priority))
def test_who_may_disturb_at_night(category: Category, priority: Priority) -> None:
    facts = replace(FINE, quiet_hours=NIGHT, timezone="Europe/Vienna")
    night = datetime(2026, 5, 1, 23, tzinfo=UTC)
    verdict = ask(facts, category, priority=priority, now=night, expires_at=night + timedelta(days=7))
    passes = category in {Category.SECURITY, Category.TRANSACTIONAL} or (
        priority is Priority.URGENT and category is not Category.MARKETING
    )
    if passes:
        assert verdict == Allow()
    else:
        assert isinstance(verdict, Defer)
        assert verdict.until == datetime(2026, 5, 2, 5, tzinfo=UTC)


def test_own_quiet_hours_come_before_the_tenants_and_equal_times_mean_never() -> None:
    night = datetime(2026, 5, 1, 23, tzinfo=UTC)
    later = {"now": night, "expires_at": night + timedelta(days=7)}
    tenants = replace(FINE, policy=Policy(quiet_hours=NIGHT))
    assert isinstance(ask(tenants, **later), Defer)
    assert ask(replace(tenants, quiet_hours=QuietHours(start=0, end=0)), **later) == Allow()


def test_a_deferral_never_lasts_longer_than_the_message() -> None:
    night = datetime(2026, 5, 1, 23, tzinfo=UTC)
    verdict = ask(replace(FINE, quiet_hours=NIGHT), now=night, expires_at=night + timedelta(hours=1))
    assert isinstance(verdict, Defer)
    assert verdict.until == night + timedelta(hours=1)


topics = st.none() | st.builds(
    TopicFacts, key=st.sampled_from(["news", "offers"]), mandatory=st.booleans(), on_by_default=st.booleans()
)
opt_outs = st.builds(
    OptOut,
    topic=st.sampled_from(["", "news", "offers"]),
    spared=st.frozensets(st.sampled_from(["news", "offers"])),
)
choices = st.none() | st.builds(
    ChannelChoice,
    enabled=st.none() | st.booleans(),
    categories=st.dictionaries(st.sampled_from(Category), st.booleans()),
    topics=st.dictionaries(st.sampled_from(["news", "offers"]), st.booleans()),
)
quiet = st.none() | st.builds(QuietHours, start=st.integers(0, 1439), end=st.integers(0, 1439))
policies = st.builds(
    Policy,
    consent_policy=st.sampled_from(ConsentPolicy),
    opt_out_stops_reminders=st.booleans(),
    quiet_hours=quiet,
    timezone=st.sampled_from(["UTC", "Europe/Vienna", "America/New_York"]),
    channels=st.dictionaries(st.sampled_from(Channel), st.booleans()),
)
facts = st.builds(
    GateFacts,
    tenant_active=st.booleans(),
    erased=st.booleans(),
    address_status=st.sampled_from([None, "active", "revoked", "suppressed"]),
    channel=st.sampled_from(Channel),
    suppressions=st.lists(st.sampled_from(sorted(HARD)), unique=True).map(tuple),
    platform_suppressed=st.booleans(),
    opt_outs=st.lists(opt_outs, max_size=2).map(tuple),
    policy=policies,
    topic=topics,
    choice=choices,
    consent=st.sampled_from(ConsentState),
    quiet_hours=quiet,
    timezone=st.none() | st.sampled_from(["Europe/Vienna", "Asia/Kolkata", "Australia/Lord_Howe"]),
    no_room=st.none()
    | st.builds(NoRoom, rule=st.just("sender_limit"), account=st.just("acc_1"), until=st.just(TOMORROW)),
)
moments = st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2027, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC)
)
questions = st.builds(
    Question,
    facts=facts,
    category=st.sampled_from(Category),
    priority=st.sampled_from(Priority),
    expires_at=moments,
    now=moments,
)


def verdict_of(question: Question) -> Verdict:
    return decide(
        question.facts,
        category=question.category,
        priority=question.priority,
        expires_at=question.expires_at,
        now=question.now,
    )


def test_the_rules_stand_in_the_order_of_the_design() -> None:
    order = [
        "tenant",
        "expiry",
        "recipient",
        "address",
        "suppression",
        "opt_out",
        "preference",
        "consent",
        "quiet_hours",
        "frequency_cap",
        "rate_limit",
        "sender_capacity",
    ]
    assert [rule.name for rule in RULES] == order


@given(questions)
def test_the_first_rule_that_objects_decides(question: Question) -> None:
    steps = walk(question)
    first = next((step.verdict for step in steps if not isinstance(step.verdict, Allow)), Allow())
    assert verdict_of(question) == first
    assert all(step.fact for step in steps)


@given(
    questions,
    st.sampled_from(
        ["suppression", "platform", "opt_out", "channel_off", "withdrawn", "erased", "revoked", "inactive"]
    ),
)
def test_one_more_reason_never_lets_anything_through(question: Question, added: str) -> None:
    before = verdict_of(question)
    known = question.facts
    worse = {
        "suppression": replace(known, suppressions=(*known.suppressions, SuppressionReason.COMPLAINT)),
        "platform": replace(known, platform_suppressed=True),
        "opt_out": replace(known, opt_outs=(*known.opt_outs, OptOut())),
        "channel_off": replace(known, choice=replace_choice(known.choice)),
        "withdrawn": replace(known, consent=ConsentState.WITHDRAWN),
        "erased": replace(known, erased=True),
        "revoked": replace(known, address_status="revoked"),
        "inactive": replace(known, tenant_active=False),
    }[added]
    after = verdict_of(replace(question, facts=worse))
    if not isinstance(before, Allow):
        assert not isinstance(after, Allow)
    if isinstance(before, Skip):
        assert isinstance(after, Skip)


def replace_choice(choice: ChannelChoice | None) -> ChannelChoice:
    have = choice or ChannelChoice()
    return ChannelChoice(enabled=False, categories=have.categories, topics=have.topics)


@given(questions)
def test_every_deferral_ends(question: Question) -> None:
    """Asked again when the wait is over, a message goes or has expired; it never waits in a ring."""
    asked, rounds = question, 0
    while isinstance(verdict := verdict_of(asked), Defer):
        assert asked.now < verdict.until <= asked.expires_at
        asked = replace(asked, now=verdict.until)
        rounds += 1
        assert rounds < 3
    if rounds and not isinstance(verdict, Allow):
        assert isinstance(verdict, Skip)
        assert verdict.reason is SkipReason.EXPIRED


@given(questions)
def test_nothing_that_people_rely_on_is_stopped_by_an_opt_out(question: Question) -> None:
    if question.category in RELIED_ON:
        free = replace(question, facts=replace(question.facts, opt_outs=()))
        assert verdict_of(question) == verdict_of(free)


def test_codes_are_stored_and_therefore_fixed() -> None:
    assert {reason.value: reason.code for reason in SkipReason} == {
        "tenant_inactive": 100,
        "expired": 101,
        "no_address": 102,
        "address_revoked": 103,
        "recipient_erased": 104,
        "suppressed": 105,
        "opted_out": 106,
        "throttled": 107,
        "channel_off": 108,
        "category_off": 109,
        "topic_off": 110,
        "no_consent": 111,
        "frequency_cap": 112,
        "holdout": 113,
    }
