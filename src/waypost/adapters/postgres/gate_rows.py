"""Rows of `gate_facts` to what the gate knows."""

from collections.abc import Sequence
from functools import lru_cache

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.preference_json import read_choice, read_policy
from waypost.delivery.gate_model import GateFacts
from waypost.kernel.vocabulary import Channel
from waypost.preferences.model import ConsentState, Policy, QuietHours
from waypost.preferences.rules import TopicFacts
from waypost.suppression.model import OptOut, SuppressionReason


def facts_of(rows: Sequence[Record], channel: Channel) -> list[GateFacts]:
    if not rows:
        return []
    policy = read_policy(rows[0]["policy"])
    return [_facts(row, channel, policy) for row in rows]


def spread_facts_of(rows: Sequence[Record], channel: Channel, asked: int) -> list[GateFacts]:
    """In the order of the question; a row tells of everyone whose place it names, counted from 1."""
    facts = facts_of(rows, channel)
    if len(facts) == 1:
        return facts * asked
    told = {place: fact for fact, row in zip(facts, rows, strict=True) for place in row["places"]}
    return [told[place] for place in range(1, asked + 1)]


def _facts(row: Record, channel: Channel, policy: Policy) -> GateFacts:
    suppressions: tuple[SuppressionReason, ...] = ()
    opt_outs: tuple[OptOut, ...] = ()
    if row["suppressions"]:
        suppressions, opt_outs = _split(row["suppressions"])
    topic, choice, consent, start = row["topic"], row["choice"], row["consent"], row["quiet_start"]
    return GateFacts(
        tenant_active=bool(row["tenant_active"]),
        erased=row["erased"],
        address_status="active" if channel is Channel.INAPP else row["address_status"],
        channel=channel,
        suppressions=suppressions,
        platform_suppressed=row["platform"],
        opt_outs=opt_outs,
        policy=policy,
        topic=None if topic is None else _topic(topic, row["mandatory"], row["on_by_default"]),
        choice=None if choice is None else read_choice(choice),
        consent=ConsentState.NONE if consent is None else ConsentState(consent),
        quiet_hours=None if start is None else QuietHours(start=start, end=row["quiet_end"]),
        timezone=row["timezone"],
    )


@lru_cache(maxsize=1_000)
def _topic(key: str, mandatory: bool | None, on_by_default: bool | None) -> TopicFacts:  # noqa: FBT001 — columns
    """A topic that is not there any more is opted in, and its opt-outs still count."""
    return TopicFacts(key=key, mandatory=bool(mandatory), on_by_default=on_by_default is not False)


def _split(texts: Sequence[str]) -> tuple[tuple[SuppressionReason, ...], tuple[OptOut, ...]]:
    hard: list[SuppressionReason] = []
    opt_outs: list[OptOut] = []
    for text in texts:
        word, topic, spared = text.split("/")
        if (reason := SuppressionReason(word)) is SuppressionReason.OPT_OUT:
            opt_outs.append(OptOut(topic=topic, spared=frozenset(spared.split(",")) - {""}))
        else:
            hard.append(reason)
    return tuple(sorted(hard, key=lambda reason: -reason.rank)), tuple(opt_outs)
