"""After a batch: what its replies teach about pace, and whether an account must stop."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from waypost.channels.model import Outcome, OutcomeReason
from waypost.kernel.clock import Clock
from waypost.kernel.ids import show
from waypost.kernel.work import Transaction, Work
from waypost.senders import pace as pacing
from waypost.senders.health import rest_after, tally_of, verdict
from waypost.senders.model import Pace, Standing, Tally
from waypost.senders.ports import CapacityStore
from waypost.senders.stopping import Stopping

_log: Final = structlog.stdlib.get_logger()
_NOT_TAKEN: Final = frozenset({Tally.DEFERRED, Tally.AWAY, Tally.UNUSED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What became of one message that an account was to send."""

    account_id: UUID
    provider: str | None
    """None where only a journal told of it."""
    outcome: Outcome | None
    """None: it was not sent after all."""

    @property
    def tally(self) -> Tally:
        return Tally.UNUSED if self.outcome is None else tally_of(self.outcome)

    @property
    def is_plain(self) -> bool:
        """Sent, or not tried: nothing to learn of it where nothing is paced."""
        return self.tally in (Tally.SENT, Tally.UNUSED)


class Aftermath:
    """The counts themselves have moved with the settlement; this is what follows from them."""

    def __init__(self, *, work: Work, capacity: CapacityStore, stopping: Stopping, clock: Clock) -> None:
        self._work = work
        self._capacity = capacity
        self._stopping = stopping
        self._clock = clock

    async def __call__(self, tenant_id: str, replies: Sequence[Reply], *, paced: bool) -> bool:
        """Says whether an account was stopped. `paced`: some account of these has a pace to learn."""
        if not paced and all(reply.is_plain for reply in replies):
            return False
        now = self._clock.now()
        by_account: dict[UUID, list[Reply]] = {}
        for reply in replies:
            by_account.setdefault(reply.account_id, []).append(reply)
        providers = sorted({reply.provider for reply in replies if reply.provider is not None})
        stopped = False
        async with self._work.begin(tenant_id) as tx:
            ids = sorted(by_account)
            await self._capacity.hold(tx, ids, now.date())
            for standing in await self._capacity.held_standings(tx, ids, now.date(), providers):
                stopped |= await self._follow_up(tx, standing, by_account[standing.account.id], now)
        return stopped

    async def _follow_up(self, tx: Transaction, standing: Standing, replies: Sequence[Reply], now: datetime) -> bool:
        account, state = standing.account, standing.state
        if learned := learn(standing, replies, now):
            await self._capacity.save_paces(tx, account.id, learned, now)
        if is_away(replies):
            until = now + rest_after(state.consecutive_errors)
            if state.next_at is None or state.next_at < until:
                await self._capacity.save_state(tx, account.id, replace(state, next_at=until))
        reasons = [reply.outcome.reason for reply in replies if reply.outcome and reply.outcome.reason]
        if (found := verdict(standing.today, state.consecutive_errors, reasons)) is None:
            return False
        if not await self._stopping.stop(tx, account, *found, standing.today):
            return False
        _log.warning(
            "sender account stopped", action="sender_stopped", tenant=tx.tenant_id, account=show("acc", account.id),
            status=found[0].value, reason=found[1].value,
        )  # fmt: skip
        return True


def is_away(replies: Iterable[Reply]) -> bool:
    """The server was not there for any of them."""
    tallies = {reply.tally for reply in replies} - {Tally.UNUSED}
    return tallies == {Tally.AWAY}


def learn(standing: Standing, replies: Sequence[Reply], now: datetime) -> list[Pace]:
    """Paces that a batch's replies have changed. A request to slow down counts once, of however many it was told."""
    account = standing.account
    known = {pace.provider: pace for pace in standing.paces}
    by_provider: dict[str, list[Reply]] = {}
    for reply in replies:
        if reply.provider is not None:
            by_provider.setdefault(reply.provider, []).append(reply)
    learned: list[Pace] = []
    for provider, told in sorted(by_provider.items()):
        slowed = any(reply.outcome and reply.outcome.reason is OutcomeReason.SLOW_DOWN for reply in told)
        before = known.get(provider)
        if before is None and not (slowed or account.adaptive):
            continue
        pace = pacing.at(before, provider, now, adaptive=account.adaptive)
        if before is None:
            pace = replace(pace, taken=len(told))
        after = pacing.after(
            pace,
            good=sum(reply.tally is Tally.SENT for reply in told),
            slowed=slowed,
            unused=sum(reply.tally in _NOT_TAKEN for reply in told),
            now=now,
            adaptive=account.adaptive,
        )
        if after != before:
            learned.append(after)
    return learned
