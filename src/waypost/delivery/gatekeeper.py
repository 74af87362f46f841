"""The gate at dispatch, for those about whom it must be asked in full; and the count of what it lets through."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from waypost.delivery.gate import Allow, Defer, GateFacts, MessageKind, Verdict, decide
from waypost.delivery.limits import Ledger
from waypost.delivery.model import Claimed
from waypost.delivery.ports import DeliveryStore, LimitStore
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction, Work


class Gatekeeper:
    def __init__(self, *, work: Work, delivery: DeliveryStore, limits: LimitStore) -> None:
        self._work = work
        self._delivery = delivery
        self._limits = limits

    async def judge(self, tenant_id: str, rows: Sequence[Claimed], now: datetime) -> Sequence[Verdict]:
        """What is said to each, in order. What is let through is counted when this returns, and not if it raises."""
        async with self._work.begin(tenant_id) as tx:
            facts = await self._facts(tx, rows)
            limits = await self._limits.limits(tx)
            if limits is None:
                return [_decide(one, fact, now) for one, fact in zip(rows, facts, strict=True)]
            await self._limits.hold(tx)
            ledger = await self._limits.read(tx, limits, [one.recipient_id for one in rows], now)
            verdicts = [_count(ledger, one, fact, now) for one, fact in zip(rows, facts, strict=True)]
            await self._limits.save(tx, ledger)
            return verdicts

    async def _facts(self, tx: Transaction, rows: Sequence[Claimed]) -> Sequence[GateFacts]:
        places: dict[Channel, list[int]] = {}
        for place, one in enumerate(rows):
            places.setdefault(one.channel, []).append(place)
        found: dict[int, GateFacts] = {}
        for channel, those in places.items():
            people = [(rows[place].recipient_id, rows[place].address_id) for place in those]
            kinds = [MessageKind(rows[place].category, rows[place].topic) for place in those]
            found |= dict(zip(those, await self._delivery.gate_facts(tx, channel, people, kinds), strict=True))
        return [found[place] for place in range(len(rows))]


def _decide(one: Claimed, facts: GateFacts, now: datetime) -> Verdict:
    return decide(facts, category=one.category, priority=one.priority, expires_at=one.expires_at, now=now)


def _count(ledger: Ledger, one: Claimed, facts: GateFacts, now: datetime) -> Verdict:
    standing = ledger.facts(one.channel, one.recipient_id)
    verdict = _decide(one, msgspec.structs.replace(facts, limits=standing), now)
    if isinstance(verdict, Allow):
        ledger.take(one.channel, one.recipient_id, one.category)
    elif isinstance(verdict, Defer) and verdict.rule == "rate_limit":
        ledger.plan(one.channel, one.recipient_id)
    return verdict
