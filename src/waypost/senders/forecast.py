"""Whether a message would find room on a sender account, without taking any."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.vocabulary import Category
from waypost.kernel.work import Transaction
from waypost.senders.capacity import Handout
from waypost.senders.desk import Asking, PutOff, ask_in_turn
from waypost.senders.model import Day, Standing
from waypost.senders.ports import AccountStore
from waypost.senders.selection import Wish, rank

_NOBODY: Final = UUID(int=0)
_ANY_PROVIDER: Final = ""
"""Who runs the recipient's mailbox is sealed with their address: paces by provider are left out."""


class Forecast:
    def __init__(self, *, accounts: AccountStore, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock

    async def __call__(self, tx: Transaction, category: Category, at: datetime) -> PutOff | None:
        """None: it would go at this moment, by an account or by the installation's own way."""
        roster = await self._accounts.live(tx)
        if not roster:
            return None
        standings = await self._accounts.standings(tx, roster, self._clock.now())
        wish = Wish(category)
        ranked = [Handout(one, at) for one in rank(_on_the_day(standings, at), wish)]
        if not ranked:
            return None
        answer = ask_in_turn(ranked, Asking(id=_NOBODY, wish=wish, provider=_ANY_PROVIDER))
        return answer if isinstance(answer, PutOff) else None


def _on_the_day(standings: Sequence[Standing], at: datetime) -> Sequence[Standing]:
    """Another day begins with nothing counted."""
    day = at.date()
    return [one if one.today.day == day else replace(one, today=Day(day=day)) for one in standings]
