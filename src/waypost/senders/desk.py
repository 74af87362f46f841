"""The step between gate and composing: each message of a batch gets an account with room, or a time to come again."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.work import Work
from waypost.senders.capacity import Handout, Rule
from waypost.senders.model import Account, AccountStatus, Standing
from waypost.senders.ports import AccountStore, CapacityStore, SenderBoard
from waypost.senders.selection import Wish, rank

FRESH: Final = timedelta(seconds=1)
"""For so long nobody is asked who has changed their accounts."""
_OVERLAP: Final = timedelta(seconds=60)
"""A change may be committed this long after the moment it bears."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """A message that is to leave."""

    id: UUID
    wish: Wish
    provider: str
    """Who runs the recipient's mailbox."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assigned:
    account_id: UUID
    version: int
    mailbox: str
    """What stands in From where the message names nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PutOff:
    account_id: UUID
    until: datetime
    rule: Rule

    @property
    def names_provider(self) -> bool:
        return self.rule is Rule.PROVIDER


class Desk:
    """Knows which tenants have accounts, so that all others pass without a question."""

    def __init__(
        self,
        *,
        work: Work,
        accounts: AccountStore,
        capacity: CapacityStore,
        board: SenderBoard,
        clock: Clock,
        is_paused: Callable[[UUID], bool] | None = None,
    ) -> None:
        """`is_paused`: an operator's pause that is no account's own; who has another way out takes that."""
        self._is_paused = is_paused
        self._work = work
        self._accounts = accounts
        self._capacity = capacity
        self._board = board
        self._clock = clock
        self._rosters: dict[str, Sequence[Account] | None] = {}
        """By tenant that has or had accounts; None: they must be read again."""
        self._changed: dict[str, datetime] = {}
        self._paced: set[UUID] = set()
        self._asked_at: float | None = None

    async def tenants_with_accounts(self, tenants: set[str]) -> set[str]:
        """Which of these. Costs one look-up each, and one question a second for all."""
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at >= FRESH.total_seconds():
            await self._refresh()
            self._asked_at = now
        return tenants & self._rosters.keys() if self._rosters else set()

    async def assign(self, tenant_id: str, batch_id: UUID, asking: Sequence[Asking]) -> dict[UUID, Assigned | PutOff]:
        """In the order asked. Who is not in the answer goes the installation's own way. What is assigned is reserved
        when this returns, and not if it raises."""
        now = self._clock.now()
        providers = sorted({one.provider for one in asking})
        async with self._work.begin(tenant_id) as tx:
            roster = self._rosters.get(tenant_id)
            if roster is None:
                roster = self._rosters[tenant_id] = await self._accounts.live(tx)
            if not roster:
                return {}
            ids = sorted(account.id for account in roster)
            await self._capacity.hold(tx, ids, now.date())
            standings = await self._capacity.held_standings(tx, ids, now.date(), providers)
            ranking = self._as_paused(standings)
            handouts = {one.account.id: Handout(one, now) for one in standings}
            ranks: dict[Wish, list[Handout]] = {}
            answers: dict[UUID, Assigned | PutOff] = {}
            for one in asking:
                ranked = ranks.get(one.wish)
                if ranked is None:
                    ranked = ranks[one.wish] = [handouts[best.account.id] for best in rank(ranking, one.wish)]
                if ranked:
                    answers[one.id] = ask_in_turn(ranked, one)
            for account_id, handout in handouts.items():
                handout.close()
                (self._paced.add if handout.is_paced else self._paced.discard)(account_id)
            await self._capacity.reserve(tx, batch_id, now.date(), list(handouts.values()), now)
        return answers

    def _as_paused(self, standings: Sequence[Standing]) -> Sequence[Standing]:
        """To be ranked: accounts that an operator has paused come last. Who has no other waits until the pause ends."""
        is_paused = self._is_paused
        if is_paused is None:
            return standings
        return [
            replace(one, account=replace(one.account, status=AccountStatus.PAUSED))
            if is_paused(one.account.id)
            else one
            for one in standings
        ]

    def is_paced(self, account_ids: Set[UUID]) -> bool:
        """Whether one of them has a pace that replies may change."""
        return not self._paced.isdisjoint(account_ids)

    def forget(self, tenant_id: str) -> None:
        """Its accounts have just been changed by this process."""
        if tenant_id in self._rosters:
            self._rosters[tenant_id] = None

    async def _refresh(self) -> None:
        newest = max(self._changed.values(), default=None)
        for change in await self._board.changed_since(None if newest is None else newest - _OVERLAP):
            if change.lately or self._changed.get(change.tenant_id) != change.at:
                self._rosters[change.tenant_id] = None
            self._changed[change.tenant_id] = change.at


def ask_in_turn(ranked: Sequence[Handout], one: Asking) -> Assigned | PutOff:
    """The first that lets it go; else when whoever is soonest free takes it."""
    best: tuple[Rule, Handout] | None = None
    for handout in ranked:
        rule = handout.let_go(one.id, one.provider)
        if rule is None:
            account = handout.account
            return Assigned(account_id=account.id, version=account.version, mailbox=mailbox_of(account))
        if best is None or rule < best[0]:
            best = rule, handout
    if best is None:
        raise ValueError("Nobody was asked.")
    rule, handout = best
    return PutOff(account_id=handout.account.id, until=handout.put_off(rule, one.provider), rule=rule)


def mailbox_of(account: Account) -> str:
    """As it stands in From."""
    if not account.display_name:
        return account.from_address
    name = account.display_name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{name}" <{account.from_address}>'
