"""The gate's pure part: every rule asked about one message to one person, without reading anything."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from benchmarks.results import Entry, Findings, Spread
from waypost.delivery.gate import Allow, Defer, GateFacts, Verdict, decide
from waypost.kernel.vocabulary import Category
from waypost.preferences.model import ChannelChoice, ConsentState, Policy, QuietHours
from waypost.preferences.rules import TopicFacts
from waypost.suppression.model import OptOut

_GOAL = 20_000
_NOON, _NIGHT = datetime(2026, 1, 15, 12, tzinfo=UTC), datetime(2026, 1, 15, 23, tzinfo=UTC)
_PLAIN = GateFacts(tenant_active=True, erased=False, address_status="active")
_FULL = GateFacts(
    tenant_active=True,
    erased=False,
    address_status="active",
    opt_outs=(OptOut(topic="offers"), OptOut(spared=frozenset({"news"}))),
    policy=Policy(quiet_hours=QuietHours(start=1320, end=420), timezone="Europe/Vienna"),
    topic=TopicFacts(key="news", mandatory=False, on_by_default=False),
    choice=ChannelChoice(enabled=True, topics={"news": True}),
    consent=ConsentState.GRANTED,
    quiet_hours=QuietHours(start=1290, end=450),
    timezone="America/New_York",
)


async def measure(*, quick: bool) -> Findings:
    count, rounds = (200, 1) if quick else (20_000, 5)
    cases: list[tuple[str, str, type[Verdict], Callable[[], Verdict]]] = [
        ("gate", "verdicts about a receipt", Allow, lambda: _ask(_PLAIN, Category.TRANSACTIONAL, _NOON)),
        ("gate, marketing", "verdicts about marketing with a topic, choices, consent and opt-outs, by day", Allow,
         lambda: _ask(_FULL, Category.MARKETING, _NOON + timedelta(hours=5))),
        ("gate, at night", "the same in quiet hours, put off until morning", Defer,
         lambda: _ask(_FULL, Category.MARKETING, _NIGHT + timedelta(hours=5))),
    ]  # fmt: skip
    entries: list[Entry] = []
    for name, what, expected, ask in cases:
        assert isinstance(ask(), expected), name
        rates = Spread.of([_rate(ask, count) for _ in range(rounds)])
        entries.append(
            Entry(
                name=name,
                what=f"{what}, pure part, one core",
                unit="verdicts/s",
                ours=rates,
                goal="≥ 20,000",
                met=None if quick else rates.middle >= _GOAL,
                rounds=rounds,
            )
        )
    return Findings(entries)


def _ask(facts: GateFacts, category: Category, now: datetime) -> Verdict:
    return decide(facts, category=category, expires_at=now + timedelta(days=7), now=now)


def _rate(ask: Callable[[], Verdict], count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        ask()
    return count / (time.perf_counter() - begun)
